"""A virtual Open Shoe, shoe or shuffler: the messages of its actions, and its end of the line.

Theory of operation: the clock of a card is that of its leading edge, so that two cards of one draw are two passages
that overlap. Each device draws the id of its stream when it is created: the reports of an earlier device are lost.
Version 2 reports how well a card was read, and the order of a set. That order is drawn from the id of the set, so that
a scenario has the same order in each run. Version 3 reports its power-up, which begins its clock, and its capabilities.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random, SystemRandom
from typing import Final, assert_never, cast

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import FACES, FAULTS
from shoed import VERSION
from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.rig.device import (
    DEFAULT_MANNER,
    SILENCE,
    Action,
    Burn,
    Cut,
    Deal,
    Deliver,
    DeviceOutput,
    FaultAction,
    Load,
    Manner,
    RunOut,
    Together,
    Turn,
    known,
)
from shoed.session.open_shoe_device import ABLE, OpenShoeIdentity, OpenShoeReplies
from shoed.session.open_shoe_device import OpenShoeDeviceSession as Role
from shoed.session.open_shoe_observations import CARDS

CODES: Final = {each.name.value: each.number for each in FAULTS}
FACE_OF: Final = {card: face for face, card in CARDS.items()}
# The answers to orders that a person may select.
ANSWERS: Final[Mapping[str, OpenShoeReplies]] = {
    DEFAULT_MANNER.answer: OpenShoeReplies(),
    SILENCE: OpenShoeReplies(silent=True),
    **{each.value: OpenShoeReplies(result=each) for each in theirs.OpenShoeResult},
}
CAPABILITIES: Final[Mapping[theirs.OpenShoeRole, theirs.OpenShoeCapability]] = {
    theirs.OpenShoeRole.SHOE: ABLE[theirs.OpenShoeRole.SHOE] | theirs.OpenShoeCapability.QUALITY,
    theirs.OpenShoeRole.SHUFFLER: ABLE[theirs.OpenShoeRole.SHUFFLER] | theirs.OpenShoeCapability.ORDER,
}
PASSAGE_US: Final = 120_000  # of a card in the window
TOGETHER_S: Final = 0.02  # from one leading edge to the next
MOST_OF_A_CARD: Final = 255
MOST_IN_A_PART: Final = 255  # of the order
WELL_READ: Final = 100  # percent


class VirtualOpenShoe:
    def __init__(
        self,
        settings: OpenShoeSettings,
        stream: int | None = None,
        *,
        version: int = 1,
        manner: Manner = DEFAULT_MANNER,
    ) -> None:
        able = CAPABILITIES[settings.role]
        identity = OpenShoeIdentity("shoed", "virtual", f"{settings.role.value}-1", VERSION, able)
        replies = ANSWERS[manner.answer]._replace(reports=manner.reports)
        self.role = Role(settings, version=version, identity=identity, replies=replies)
        self.state = self.role.begin(SystemRandom().getrandbits(32) if stream is None else stream)
        self.is_on = False
        self.description = f"an Open Shoe {settings.role.value}"

    @property
    def locked(self) -> bool:
        return self.state.locked

    def switch_on(self, at: Now) -> None:
        """Power the device up before its first input."""
        if not self.is_on:
            self.state = self.role.powered(self.state, at, SystemRandom().getrandbits(16))
        self.is_on = True

    def opened(self, at: Now) -> bytes:
        self.switch_on(at)
        self.state, data = self.role.opened(self.state, at)
        return data

    def say(self, report: object, at: Now) -> bytes:
        self.switch_on(at)
        self.state, data = self.role.say(self.state, cast("theirs.ReportBody", report), at)
        return data

    def hear(self, chunk: Chunk) -> bytes:
        self.switch_on(chunk.at)
        self.state, data = self.role.hear(self.state, chunk)
        return data

    def wake_at(self) -> int | None:
        return self.role.wake_at(self.state)

    def perform(self, deed: Action) -> Iterator[DeviceOutput]:
        match deed:
            case FaultAction(name, raised):
                code = known(self.description, "fault", name, CODES)
                yield DeviceOutput(0, theirs.FaultChanged(code, raised, blocking=raised))
            case _ if self.role.role is theirs.OpenShoeRole.SHUFFLER:
                yield from self.shuffles(deed)
            case _:
                yield from self.deals(deed)

    def shuffles(self, deed: Action) -> Iterator[DeviceOutput]:
        if not isinstance(deed, Deliver):
            raise ValueError(f"{self.description} deals no cards; write deliver, fault or clear")  # noqa: TRY004 -- a kind of action
        counts = Counter(FACE_OF[card] for card in deed.extra)
        counts.subtract(FACE_OF[card] for card in deed.missing)
        counted = tuple(deed.decks + counts[face] for face in FACES)
        if min(counted) < 0 or max(counted) > MOST_OF_A_CARD:
            raise ValueError(f"a card is counted 0 to {MOST_OF_A_CARD} times; write fewer of this card")
        ordered = self.ordered(deed, counted)
        yield DeviceOutput(0, theirs.Recognised(deed.set_id))
        named = deed.set_id if self.role.states else ""
        yield DeviceOutput(0.1, theirs.Shuffling(named))
        yield DeviceOutput(1, theirs.Shuffled(named))
        yield DeviceOutput(0.1, theirs.Inventory(deed.set_id, counted, 0))
        for at in range(0, len(ordered), MOST_IN_A_PART):
            yield DeviceOutput(0, theirs.CardOrder(deed.set_id, at + 1, ordered[at : at + MOST_IN_A_PART]))
        yield DeviceOutput(0.1, theirs.Delivered(deed.set_id))

    def ordered(self, deed: Deliver, counted: tuple[int, ...]) -> tuple[theirs.OpenShoeFace, ...]:
        if self.role.version == 1:
            if deed.first:
                raise ValueError(f"{self.description} of version 1 reports no order; omit first, or use --firmware 2")
            return ()
        rest = Counter(dict(zip(FACES, counted, strict=True)))
        first = [FACE_OF[card] for card in deed.first]
        rest.subtract(first)
        if min(rest.values()) < 0:
            raise ValueError("first has more of a card than the set; write fewer of this card, or more decks")
        others = list(rest.elements())
        Random(deed.set_id).shuffle(others)
        return (*first, *others)

    def deals(self, deed: Action) -> Iterator[DeviceOutput]:  # noqa: C901 -- one case for each action
        match deed:
            case Load(set_id):
                yield DeviceOutput(0, theirs.Loaded(set_id))
            case Deal(result=result) if result:
                raise ValueError(f"{self.description} reports no results; omit the result")
            case Deal(cards, gap_ms):
                yield from self.cards(cards, gap_ms / 1000, theirs.OpenShoePlace.DEALT)
            case Together(cards):
                yield from self.cards(cards, TOGETHER_S, theirs.OpenShoePlace.DEALT)
            case Burn(cards, gap_ms):
                yield from self.cards(cards, gap_ms / 1000, theirs.OpenShoePlace.BURNT)
            case Cut():
                yield DeviceOutput(0, theirs.OpenShoeCutCard())
            case RunOut():
                yield DeviceOutput(0, theirs.Empty())
            case Turn(locked):
                yield DeviceOutput(0, theirs.Lock(locked))
            case Deliver():
                raise ValueError(f"{self.description} delivers no set; use a shuffler")
            case FaultAction():
                pass  # `perform` handles it for both roles
            case _:
                assert_never(deed)

    def cards(self, cards: tuple[Card, ...], gap_s: float, place: theirs.OpenShoePlace) -> Iterator[DeviceOutput]:
        if self.state.locked:
            place = theirs.OpenShoePlace.LOCKED
        elif any(each.blocking for each in self.state.faults):
            place = theirs.OpenShoePlace.ERROR
        quality = WELL_READ if self.role.version > 1 else None
        for number, card in enumerate(cards):
            position = number + 1 if place is theirs.OpenShoePlace.BURNT else 0
            yield DeviceOutput(
                gap_s if number else 0, theirs.OpenShoeCard(FACE_OF[card], place, position, PASSAGE_US, quality=quality)
            )
