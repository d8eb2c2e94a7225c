"""A virtual Open Shoe, shoe or shuffler: what it says of deeds, and its half of the line.

Theory of operation: a card's clock is that of its leading edge, so that two cards of one draw are two passages that
overlap. Each device draws the id of its stream when it is made: what an earlier one said is lost with it. Version 2
tells how well a card was read, and in which order a set lies: that is drawn from the set's id, so that a scenario
gives the same order each time. Version 3 names its power-up, which begins its clock, and says what it can do.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random, SystemRandom
from typing import Final, assert_never, cast

from firmware_protocols.open_shoe import OpenShoeSettings
from firmware_protocols.open_shoe import messages as theirs
from firmware_protocols.open_shoe.layout import FACES, FAULTS
from shoed import VERSION
from shoed.cards import Card
from shoed.now import Chunk, Now
from shoed.rig.device import (
    AS_IT_IS,
    SILENCE,
    Burn,
    Cut,
    Deal,
    Deed,
    Deliver,
    Fault,
    Load,
    Manner,
    RunOut,
    Said,
    Together,
    Turn,
    known,
)
from shoed.session.open_shoe_device import ABLE, Identity, Replies
from shoed.session.open_shoe_device import OpenShoeDevice as Role
from shoed.session.open_shoe_words import CARDS

CODES: Final = {each.name.value: each.number for each in FAULTS}
FACE_OF: Final = {card: face for face, card in CARDS.items()}
# The answers to orders that a person may ask for.
ANSWERS: Final[Mapping[str, Replies]] = {
    AS_IT_IS.answer: Replies(),
    SILENCE: Replies(silent=True),
    **{each.value: Replies(result=each) for each in theirs.Result},
}
CAPABILITIES: Final[Mapping[theirs.Role, theirs.Capability]] = {
    theirs.Role.SHOE: ABLE[theirs.Role.SHOE] | theirs.Capability.QUALITY,
    theirs.Role.SHUFFLER: ABLE[theirs.Role.SHUFFLER] | theirs.Capability.ORDER,
}
PASSAGE_US: Final = 120_000  # of a card in the window
TOGETHER_S: Final = 0.02  # from one leading edge to the next
MOST_OF_A_CARD: Final = 255
MOST_IN_A_PART: Final = 255  # of the order
WELL_READ: Final = 100  # percent


class OpenShoeDevice:
    def __init__(
        self,
        settings: OpenShoeSettings,
        stream: int | None = None,
        *,
        version: int = 1,
        manner: Manner = AS_IT_IS,
    ) -> None:
        able = CAPABILITIES[settings.role]
        identity = Identity("shoed", "virtual", f"{settings.role.value}-1", VERSION, able)
        replies = ANSWERS[manner.answer]._replace(reports=manner.reports)
        self.role = Role(settings, version=version, identity=identity, replies=replies)
        self.state = self.role.begin(SystemRandom().getrandbits(32) if stream is None else stream)
        self.is_on = False
        self.whose = f"an Open Shoe {settings.role.value}"

    @property
    def locked(self) -> bool:
        return self.state.locked

    def switch_on(self, at: Now) -> None:
        """The first thing that happens to it is its power-up."""
        if not self.is_on:
            self.state = self.role.powered(self.state, at, SystemRandom().getrandbits(16))
        self.is_on = True

    def opened(self, at: Now) -> bytes:
        self.switch_on(at)
        self.state, said = self.role.opened(self.state, at)
        return said

    def say(self, report: object, at: Now) -> bytes:
        self.switch_on(at)
        self.state, said = self.role.say(self.state, cast("theirs.Reported", report), at)
        return said

    def hear(self, chunk: Chunk) -> bytes:
        self.switch_on(chunk.at)
        self.state, said = self.role.hear(self.state, chunk)
        return said

    def wake_at(self) -> int | None:
        return self.role.wake_at(self.state)

    def does(self, deed: Deed) -> Iterator[Said]:
        match deed:
            case Fault(name, raised):
                yield Said(0, theirs.FaultChanged(known(self.whose, "fault", name, CODES), raised, blocking=raised))
            case _ if self.role.role is theirs.Role.SHUFFLER:
                yield from self.shuffles(deed)
            case _:
                yield from self.deals(deed)

    def shuffles(self, deed: Deed) -> Iterator[Said]:
        if not isinstance(deed, Deliver):
            raise ValueError(f"{self.whose} deals no cards; write deliver, fault or clear")  # noqa: TRY004 -- a deed
        counts = Counter(FACE_OF[card] for card in deed.extra)
        counts.subtract(FACE_OF[card] for card in deed.missing)
        told = tuple(deed.decks + counts[face] for face in FACES)
        if min(told) < 0 or max(told) > MOST_OF_A_CARD:
            raise ValueError(f"no card is counted less than 0 times or more than {MOST_OF_A_CARD}; write fewer of it")
        ordered = self.ordered(deed, told)
        yield Said(0, theirs.Recognised(deed.set_id))
        named = deed.set_id if self.role.states else ""
        yield Said(0.1, theirs.Shuffling(named))
        yield Said(1, theirs.Shuffled(named))
        yield Said(0.1, theirs.Inventory(deed.set_id, told, 0))
        for at in range(0, len(ordered), MOST_IN_A_PART):
            yield Said(0, theirs.CardOrder(deed.set_id, at + 1, ordered[at : at + MOST_IN_A_PART]))
        yield Said(0.1, theirs.Delivered(deed.set_id))

    def ordered(self, deed: Deliver, told: tuple[int, ...]) -> tuple[theirs.Face, ...]:
        if self.role.version == 1:
            if deed.first:
                raise ValueError(f"{self.whose} of version 1 tells no order; leave first out, or give --firmware 2")
            return ()
        rest = Counter(dict(zip(FACES, told, strict=True)))
        first = [FACE_OF[card] for card in deed.first]
        rest.subtract(first)
        if min(rest.values()) < 0:
            raise ValueError("more of a card lie first than are in the set; write fewer of it, or more decks")
        behind = list(rest.elements())
        Random(deed.set_id).shuffle(behind)
        return (*first, *behind)

    def deals(self, deed: Deed) -> Iterator[Said]:  # noqa: C901 -- one case a deed
        match deed:
            case Load(set_id):
                yield Said(0, theirs.Loaded(set_id))
            case Deal(result=result) if result:
                raise ValueError(f"{self.whose} tells no results; leave it out")
            case Deal(cards, gap_ms):
                yield from self.cards(cards, gap_ms / 1000, theirs.Place.DEALT)
            case Together(cards):
                yield from self.cards(cards, TOGETHER_S, theirs.Place.DEALT)
            case Burn(cards, gap_ms):
                yield from self.cards(cards, gap_ms / 1000, theirs.Place.BURNT)
            case Cut():
                yield Said(0, theirs.CuttingCard())
            case RunOut():
                yield Said(0, theirs.Empty())
            case Turn(locked):
                yield Said(0, theirs.Lock(locked))
            case Deliver():
                raise ValueError(f"{self.whose} delivers no set; leave it to a shuffler")
            case Fault():
                pass  # of both
            case _:
                assert_never(deed)

    def cards(self, cards: tuple[Card, ...], gap_s: float, place: theirs.Place) -> Iterator[Said]:
        if self.state.locked:
            place = theirs.Place.LOCKED
        elif any(each.blocking for each in self.state.faults):
            place = theirs.Place.ERROR
        quality = WELL_READ if self.role.version > 1 else None
        for number, card in enumerate(cards):
            position = number + 1 if place is theirs.Place.BURNT else 0
            yield Said(gap_s if number else 0, theirs.Card(FACE_OF[card], place, position, PASSAGE_US, quality=quality))
