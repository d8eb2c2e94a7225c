"""A virtual Angel Eye shoe: the reports of each action, and the device's side of the line.

Theory of operation: the Table of Play names the hand of each card, as the logic of a real shoe does. The shoe reports
the result after the last card that is due. While the shoe is locked or in error its cards belong to no hand. Assumed:
an empty shoe reports nothing, because no code for it is known.
"""

from collections.abc import Iterator, Mapping
from typing import Final, assert_never, cast

from msgspec.structs import replace

from firmware_protocols import angel_eye as theirs
from firmware_protocols.angel_eye import FAULTS, AngelEyeSettings
from firmware_protocols.angel_eye.layout import REFUSALS
from shoed.model.cards import Card
from shoed.model.moments import Chunk, Now
from shoed.model.observations import Side
from shoed.rig.dealer import NO_INDEX, TARGETS, result_of
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
from shoed.rules import drawing
from shoed.rules.drawing import Hands
from shoed.rules.load import book
from shoed.session.angel_eye_shoe import FACES, UNNUMBERED, AngelEyeReplies, AngelEyeShoe

CODES: Final = {name.value: code for code, name in FAULTS.items()}
OUTCOMES: Final = {each.value: each for each in theirs.AngelEyeOutcome}
# The answers to orders that a person may choose: NAK with a code of two digits, or with a code of one byte.
ANSWERS: Final[Mapping[str, AngelEyeReplies]] = {
    DEFAULT_MANNER.answer: AngelEyeReplies(),
    SILENCE: AngelEyeReplies(silent=True),
    **{f"nak-{each.number:02X}": AngelEyeReplies(refuse=each.name) for each in REFUSALS},
    **{f"nak-byte-{each.number:02X}": AngelEyeReplies(refuse=each.name, in_a_byte=True) for each in REFUSALS},
}
OWNER: Final = "an Angel Eye shoe"
RESULT_S: Final = 0.15  # after the last card
TOGETHER_S: Final = 0.06  # shorter than any gap between single draws; the copies of a report take 50 ms


class AngelEyeDevice:
    def __init__(self, settings: AngelEyeSettings, manner: Manner = DEFAULT_MANNER) -> None:
        replies = replace(ANSWERS[manner.answer], reports=manner.reports)
        self.role = AngelEyeShoe(settings, replies=replies)
        self.state = self.role.begin()
        self.book = book("commission")  # all games have the same drawing rules
        self.hands = Hands()

    @property
    def locked(self) -> bool:
        return self.state.locked

    def opened(self, at: Now) -> bytes:  # noqa: ARG002 -- the hosts make no difference
        return b""

    def say(self, report: object, at: Now) -> bytes:  # noqa: ARG002 -- reports have no time
        self.state, data = self.role.say(self.state, cast("theirs.AngelEyeReport", report))
        return data

    def hear(self, chunk: Chunk) -> bytes:
        self.state, data = self.role.hear(self.state, chunk)
        return data

    def wake_at(self) -> int | None:
        return self.role.wake_at(self.state)

    def perform(self, action: Action) -> Iterator[DeviceOutput]:  # noqa: C901 -- one case an action
        match action:
            case Load(set_id):
                if set_id:
                    raise ValueError(f'{OWNER} does not know which set it deals; write load = ""')
                self.hands = Hands()
                yield DeviceOutput(0, theirs.StandBy(UNNUMBERED))
                yield DeviceOutput(RESULT_S, theirs.StartOfCommunication(UNNUMBERED))
            case Deal(cards, gap_ms, result):
                yield from self.deal(cards, gap_ms / 1000, result)
            case Together(cards):
                yield from self.deal(cards, TOGETHER_S, "")
            case Burn(cards, gap_ms):
                for number, card in enumerate(cards):
                    burnt = theirs.CardInGame(UNNUMBERED, theirs.Target.BURN, NO_INDEX, FACES[card])
                    yield DeviceOutput(gap_ms / 1000 if number else 0, self.outside(card) or burnt)
            case Cut():
                yield DeviceOutput(0, theirs.AngelEyeCutCard(UNNUMBERED))
            case RunOut():
                pass
            case Turn(locked):
                yield DeviceOutput(0, theirs.KeyLock(UNNUMBERED, locked))
            case FaultAction(name, raised):
                code = known(OWNER, "fault", name, CODES)
                raised_report = theirs.ErrorRaised(UNNUMBERED, in_error_mode=True, code=code)
                yield DeviceOutput(0, raised_report if raised else theirs.ErrorCleared(UNNUMBERED, code))
            case Deliver():
                raise ValueError(f"{OWNER} does not deliver a set; use a shuffler for this step")
            case _:
                assert_never(action)

    def deal(self, cards: tuple[Card, ...], gap_s: float, result: str) -> Iterator[DeviceOutput]:
        """Deal cards. A chosen result replaces the last one, or ends an open round."""
        chosen = known(OWNER, "result", result, OUTCOMES) if result else None
        pause_s = 0.0
        for number, card in enumerate(cards, start=1):
            if (outside := self.outside(card)) is not None:
                yield DeviceOutput(pause_s, outside)
            else:
                yield DeviceOutput(pause_s, self.drawn(card))
                if self.complete and (chosen is None or number < len(cards)):
                    outcome = theirs.AngelEyeOutcome[drawing.winner(self.book, self.hands).name]
                    yield DeviceOutput(RESULT_S, result_of(self.hands, outcome))
            pause_s = gap_s
        if chosen is not None:
            yield DeviceOutput(RESULT_S, result_of(self.hands, chosen))
            self.hands = Hands()

    def drawn(self, card: Card) -> theirs.AngelEyeReport:
        """Deal a card to the hand that it is due to; after a complete round, the next round begins."""
        hand = drawing.due(self.book, self.hands)
        if hand is None:
            self.hands = Hands()
            hand = Side.PLAYER
        self.hands = self.hands.with_card(hand, card)
        return theirs.CardInGame(UNNUMBERED, TARGETS[hand], len(self.hands.of(hand)), FACES[card])

    @property
    def complete(self) -> bool:
        return drawing.due(self.book, self.hands) is None

    def outside(self, card: Card) -> theirs.AngelEyeReport | None:
        """Return the report of a card that belongs to no hand, or None if the card is dealt normally."""
        if self.state.error is not None:
            return theirs.CardOutside(UNNUMBERED, theirs.AngelEyeSituation.ERROR, FACES[card])
        if self.state.locked:
            return theirs.CardOutside(UNNUMBERED, theirs.AngelEyeSituation.LOCKED, FACES[card])
        return None
