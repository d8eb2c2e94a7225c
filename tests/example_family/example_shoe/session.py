"""An Example shoe, seen from the host: it says everything once, and takes no orders."""

from msgspec.structs import replace

from example_shoe.protocol import CutCard, Drawn, ExampleSettings, Jam, Report, reports
from shoed.cards import Card
from shoed.now import Now
from shoed.observations import CardSeen, CutCardSeen, Evidence, FaultCleared, FaultRaised, Place, Resumed
from shoed.session import Heard, link
from shoed.session.asking import not_sent
from shoed.session.link import Hearing, LinkState
from shoed.step import AnyInput, DeviceOrder
from shoed.wire import Frame


class ExampleSession:
    state_type = LinkState

    def __init__(self, settings: ExampleSettings, *, allow_orders: bool) -> None:
        del allow_orders  # none is known
        self.settings = settings
        self.reports = reports(settings)

    def begin(self) -> LinkState:
        return LinkState()

    def wake_at(self, state: LinkState) -> int | None:
        return link.wake_at(self.reports, state, self.settings.quiet_after_s)

    def step(self, state: LinkState, came: AnyInput, now: Now) -> tuple[LinkState, Heard]:
        hearing = ExampleHearing(self.reports, self.settings.quiet_after_s, state)
        hearing.take(came, now)
        return hearing.state, hearing.outcome()


class ExampleHearing(Hearing[LinkState, Report]):
    def order(self, order: DeviceOrder, now: Now) -> None:
        self.saw(not_sent(str(order), "an Example shoe executes no orders; operate it by hand", now))

    def said(self, frame: Frame[Report]) -> None:
        at, evidence = frame.at, Evidence(frame.raw.hex(" "), frame.offset, "")
        if self.state.away:  # nothing is numbered: what was missed meanwhile nobody knows
            self.state = replace(self.state, away=False)
            self.saw(Resumed(at=at, frame=evidence))
        match frame.message:
            case Drawn(card=card):
                self.saw(CardSeen(at=at, frame=evidence, place=Place.DEALT, position=0, card=Card(card)))
            case CutCard():
                self.saw(CutCardSeen(at=at, frame=evidence))
            case Jam(cleared=False):
                self.saw(FaultRaised(at=at, frame=evidence, code=1, name="jam", blocking=True))
            case Jam():
                self.saw(FaultCleared(at=at, frame=evidence, code=1, name="jam"))
