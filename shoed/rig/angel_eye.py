"""A virtual Angel Eye shoe: what it says of deeds, and its half of the line.

Theory of operation: the Table of Play says whose a card is, as it would tell the shoe's own logic. The shoe says the
result behind the last card that is due. While it is locked or in error its cards belong to no hand. That it says
nothing when it has run out is assumed: no code for that is known.
"""

from collections.abc import Iterator, Mapping
from typing import Final, assert_never, cast

from msgspec.structs import replace

from firmware_protocols import angel_eye as theirs
from firmware_protocols.angel_eye import FAULTS, AngelEyeSettings
from firmware_protocols.angel_eye.layout import REFUSALS
from shoed.cards import Card
from shoed.now import Chunk, Now
from shoed.observations import Pair
from shoed.rig.dealer import NO_INDEX, TARGETS, result_of
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
from shoed.rules import drawing
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.session.angel_eye_shoe import FACES, UNNUMBERED, AngelEyeShoe, Replies

CODES: Final = {name.value: code for code, name in FAULTS.items()}
OUTCOMES: Final = {each.value: each for each in theirs.Outcome}
# The answers to orders that a person may ask for: NAK with its code in two digits, or in one byte.
ANSWERS: Final[Mapping[str, Replies]] = {
    AS_IT_IS.answer: Replies(),
    SILENCE: Replies(silent=True),
    **{f"nak-{each.number:02X}": Replies(refuse=each.name) for each in REFUSALS},
    **{f"nak-byte-{each.number:02X}": Replies(refuse=each.name, in_a_byte=True) for each in REFUSALS},
}
WHOSE: Final = "an Angel Eye shoe"
RESULT_S: Final = 0.15  # behind the last card
TOGETHER_S: Final = 0.06  # no two cards that are drawn one by one come so close; their copies take 50 ms


class AngelEyeDevice:
    def __init__(self, settings: AngelEyeSettings, manner: Manner = AS_IT_IS) -> None:
        replies = replace(ANSWERS[manner.answer], reports=manner.reports)
        self.role = AngelEyeShoe(settings, replies=replies)
        self.state = self.role.begin()
        self.book = book("commission")  # all games draw alike
        self.hands = Hands()

    @property
    def locked(self) -> bool:
        return self.state.locked

    def opened(self, at: Now) -> bytes:  # noqa: ARG002 -- it does not know who listens
        return b""

    def say(self, report: object, at: Now) -> bytes:  # noqa: ARG002 -- it tells no time
        self.state, said = self.role.say(self.state, cast("theirs.Report", report))
        return said

    def hear(self, chunk: Chunk) -> bytes:
        self.state, said = self.role.hear(self.state, chunk)
        return said

    def wake_at(self) -> int | None:
        return self.role.wake_at(self.state)

    def does(self, deed: Deed) -> Iterator[Said]:  # noqa: C901 -- one case a deed
        match deed:
            case Load(set_id):
                if set_id:
                    raise ValueError(f'{WHOSE} does not know which set it deals; write load = ""')
                self.hands = Hands()
                yield Said(0, theirs.StandBy(UNNUMBERED))
                yield Said(RESULT_S, theirs.StartOfCommunication(UNNUMBERED))
            case Deal(cards, gap_ms, result):
                yield from self.deal(cards, gap_ms / 1000, result)
            case Together(cards):
                yield from self.deal(cards, TOGETHER_S, "")
            case Burn(cards, gap_ms):
                for number, card in enumerate(cards):
                    burnt = theirs.CardInGame(UNNUMBERED, theirs.Target.BURN, NO_INDEX, FACES[card])
                    yield Said(gap_ms / 1000 if number else 0, self.outside(card) or burnt)
            case Cut():
                yield Said(0, theirs.CuttingCard(UNNUMBERED))
            case RunOut():
                pass
            case Turn(locked):
                yield Said(0, theirs.KeyLock(UNNUMBERED, locked))
            case Fault(name, raised):
                code = known(WHOSE, "fault", name, CODES)
                told = theirs.ErrorRaised(UNNUMBERED, in_error_mode=True, code=code)
                yield Said(0, told if raised else theirs.ErrorCleared(UNNUMBERED, code))
            case Deliver():
                raise ValueError(f"{WHOSE} delivers no set; leave it to a shuffler")
            case _:
                assert_never(deed)

    def deal(self, cards: tuple[Card, ...], gap_s: float, result: str) -> Iterator[Said]:
        """A result that is asked for takes the place of the last one, or ends an open round."""
        said = known(WHOSE, "result", result, OUTCOMES) if result else None
        pause_s = 0.0
        for number, card in enumerate(cards, start=1):
            if (outside := self.outside(card)) is not None:
                yield Said(pause_s, outside)
            else:
                yield Said(pause_s, self.drawn(card))
                if self.complete and (said is None or number < len(cards)):
                    outcome = theirs.Outcome[drawing.winner(self.book, self.hands).name]
                    yield Said(RESULT_S, result_of(self.hands, outcome))
            pause_s = gap_s
        if said is not None:
            yield Said(RESULT_S, result_of(self.hands, said))
            self.hands = Hands()

    def drawn(self, card: Card) -> theirs.Report:
        """A card to the hand that it is due to; behind a round that is complete, the next one begins."""
        hand = drawing.due(self.book, self.hands)
        if hand is None:
            self.hands = Hands()
            hand = Pair.PLAYER
        self.hands = self.hands.with_card(hand, card)
        return theirs.CardInGame(UNNUMBERED, TARGETS[hand], len(self.hands.of(hand)), FACES[card])

    @property
    def complete(self) -> bool:
        return drawing.due(self.book, self.hands) is None

    def outside(self, card: Card) -> theirs.Report | None:
        """A card that belongs to no hand, as the shoe is now."""
        if self.state.error is not None:
            return theirs.CardOutside(UNNUMBERED, theirs.Situation.ERROR, FACES[card])
        if self.state.locked:
            return theirs.CardOutside(UNNUMBERED, theirs.Situation.LOCKED, FACES[card])
        return None
