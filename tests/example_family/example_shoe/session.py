"""The host's session of an Example shoe. The shoe sends every line once, and it executes no orders."""

from msgspec.structs import replace

from example_shoe.protocol import CutCard, Drawn, ExampleSettings, Jam, Report, reports
from shoed.model.cards import Card
from shoed.model.moments import Now
from shoed.model.observations import CardSeen, CutCardSeen, Evidence, FaultCleared, FaultRaised, Place, Resumed
from shoed.model.step import AnyInput, DeviceOrder
from shoed.session import SessionOutput, link
from shoed.session.device_orders import not_sent
from shoed.session.link import LinkState, SessionStep
from shoed.wire import Frame


class ExampleSession:
    state_type = LinkState

    def __init__(self, settings: ExampleSettings, *, allow_orders: bool) -> None:
        del allow_orders  # no order is known
        self.settings = settings
        self.reports = reports(settings)

    def begin(self) -> LinkState:
        return LinkState()

    def wake_at(self, state: LinkState) -> int | None:
        return link.wake_at(self.reports, state, self.settings.quiet_after_s)

    def step(self, state: LinkState, incoming: AnyInput, now: Now) -> tuple[LinkState, SessionOutput]:
        step = ExampleStep(self.reports, self.settings.quiet_after_s, state)
        step.take(incoming, now)
        return step.state, step.outcome()


class ExampleStep(SessionStep[LinkState, Report]):
    def order(self, order: DeviceOrder, now: Now) -> None:
        self.saw(not_sent(str(order), "an Example shoe executes no orders; operate it by hand", now))

    def handle(self, frame: Frame[Report]) -> None:
        at, evidence = frame.at, Evidence(frame.raw.hex(" "), frame.offset, "")
        if self.state.away:  # lines have no numbers, so losses during an absence are never detected
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
