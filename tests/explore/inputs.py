"""The alphabet of the explorer: the possible next inputs of a table, each with its cost.

Theory of operation: three kinds of inputs have the cost 0: the due cards of an honest shoe, its right result, and every
answer to the first question. Every other input has the cost 1. The depth of an exploration is the number of costly
inputs in a sequence. The exploration has these limits:
- Few faces. `FACES` has just enough cards for each slot that Player draws, stands or has a natural, and that Banker
  draws, stands or depends on Player's third card; Banker also wins with six points. After a costly input only the first
  face of a slot has the cost 0. A person gives one face for an unread card.
- A slot that the device reports twice in a round has the cost 1, so that sequences of free inputs end.
- The exploration ends with the second card of the second round. Questions that are open then are still answered.
- All moments and journal rows are equal.
"""

from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from shoed.model import commands
from shoed.model.cards import Card
from shoed.model.commands import AnyCommand, Author, Decide
from shoed.model.findings import AnyFinding, DrawnTogether, NotShuffled, Unread
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.irregularities import Role
from shoed.model.moments import Now
from shoed.model.observations import (
    AnyObservation,
    CardSeen,
    CommunicationStarted,
    Continuity,
    CutCardSeen,
    Evidence,
    FaultMeaning,
    FaultRaised,
    LinkClosed,
    LinkOpened,
    Outcome,
    Place,
    ResultSeen,
    Resumed,
    ShoeEmptySeen,
    ShoeLoaded,
    Side,
)
from shoed.model.step import AnyInput, Commanded, Woken
from shoed.table import PublicQuestion, PublicState, Watched
from tests.listener import expected_result, next_hand

NOW: Final = Now(1_700_000_000_000_000, 50_000_000_000)
FRAME: Final = Evidence("05 31 44 81 b8 03 34 46", 40, "4")
PORT: Final = "tcp://127.0.0.1:4001"
WOKEN: Final = Woken()

Slot = tuple[Side, int]  # a hand and the position in it
FACES: Final[dict[Slot, tuple[str, ...]]] = {
    (Side.PLAYER, 1): ("4S",),
    (Side.BANKER, 1): ("3H",),
    (Side.PLAYER, 2): ("KC", "2D", "4C"),  # draws, stands, a natural
    (Side.BANKER, 2): ("KD", "4D"),  # draws, stands
    (Side.PLAYER, 3): ("7C", "8C"),  # with 3 points Banker stands on the 8 alone
    (Side.BANKER, 3): ("3C",),
}
OTHER: Final = "9D"  # the face of an unexpected card
ANSWERED_FACE: Final = "KS"  # consequences are shown for spades
CORRECTED: Final = Card.H9
SECOND_ROUND: Final = 2
SECOND_ROUND_CARDS: Final = 2  # the exploration ends with the second card of the second round

ABOVE: Final = (None, *Role)  # a player, then the roles of the house


class Input(NamedTuple):
    """One Step of a table."""

    name: str
    cost: int
    seen: tuple[Watched, ...] = ()
    given: AnyInput = WOKEN
    findings: tuple[AnyFinding, ...] = ()


def seen(name: str, cost: int, *observed: AnyObservation, found: Sequence[AnyFinding] = ()) -> Input:
    """A Step of the line; its findings belong to the last observation."""
    before: list[Watched] = [(each, ()) for each in observed[:-1]]
    return Input(name, cost, (*before, (observed[-1], tuple(found))))


def commanded(name: str, cost: int, command: AnyCommand, role: Role | None = Role.PIT_SUPERVISOR) -> Input:
    return Input(name, cost, (), Commanded(command, Author("ann", role), "7f3a"))


def in_slot(slot: Slot, face: str) -> CardSeen:
    known = None if face == "?" else Card.parse(face)
    place = Place.PLAYER if slot[0] is Side.PLAYER else Place.BANKER
    return CardSeen(at=NOW, frame=FRAME, place=place, position=slot[1], card=known, code="" if known else "00")


def elsewhere(place: Place, face: str) -> CardSeen:
    return CardSeen(at=NOW, frame=FRAME, place=place, position=0, card=Card.parse(face))


def text(slot: Slot) -> str:
    return f"{slot[0].value[0].upper()}{slot[1]}"


def due_slot(player: Sequence[Card], banker: Sequence[Card]) -> Slot | None:
    hand = next_hand(player, banker)
    return None if hand is None else (hand, 1 + len(player if hand is Side.PLAYER else banker))


def drawn_slots(player: Sequence[Card], banker: Sequence[Card]) -> list[tuple[Slot, Card]]:
    """The filled slots, in the order of the deal."""
    there = [((Side.PLAYER, at), each) for at, each in enumerate(player, 1)]
    there += [((Side.BANKER, at), each) for at, each in enumerate(banker, 1)]
    return sorted(there, key=lambda each: (each[0][1], each[0][0] is Side.BANKER))


def is_over(shown: PublicState) -> bool:
    return shown.phase.value in ("idle", "complete", "corrected", "settled", "voided", "abandoned")


def beyond_horizon(shown: PublicState) -> bool:
    begun = (shown.shoe or 1) - 1 + (shown.round or 0)
    cards = len(shown.hands.player.cards) + len(shown.hands.banker.cards)
    return begun > SECOND_ROUND or (begun == SECOND_ROUND and cards >= SECOND_ROUND_CARDS)


def inputs(
    shown: PublicState, asked: PublicQuestion | None, reported: Container[Slot], *, honest: bool
) -> Iterator[Input]:
    """Every input that the exploration tries on a table with this public state.

    `reported`: the slots that the device reported in this round. A second report of a slot has the cost 1. `honest`: no
    costly input precedes. After one, only the first face of a slot has the cost 0.
    """
    if asked is not None:
        yield from answers(asked)
    if beyond_horizon(shown):
        return
    player, banker = shown.hands.player.cards, shown.hands.banker.cards
    due = (Side.PLAYER, 1) if is_over(shown) else due_slot(player, banker)
    plays = shown.phase.value in ("betting", "closed", "dealing") or (asked is None and is_over(shown))
    for number, face in enumerate(FACES[due] if due is not None else ()):
        cost = 0 if plays and (honest or not number) and (due not in reported or is_over(shown)) else 1
        yield seen(f"{text(due)} {face}" if due else "", cost, in_slot(due or (Side.PLAYER, 1), face))
    yield from results(shown)
    yield from undue_cards(shown, due)
    yield from beside_the_cards(shown, due)
    yield from of_people(shown)


def results(shown: PublicState) -> Iterator[Input]:
    right = None
    if shown.phase.value in ("complete", "corrected"):
        right = expected_result(shown.hands.player.cards, shown.hands.banker.cards)
        yield seen("right result", 0, ResultSeen(at=NOW, frame=FRAME, outcome=right[0], pairs=right[1]))
    wrong = Outcome.BANKER if right is None or right[0] is not Outcome.BANKER else Outcome.PLAYER
    yield seen("wrong result", 1, ResultSeen(at=NOW, frame=FRAME, outcome=wrong, pairs=()))
    yield seen("forced end", 1, ResultSeen(at=NOW, frame=FRAME, outcome=Outcome.FORCED_END, pairs=()))


def undue_cards(shown: PublicState, due: Slot | None) -> Iterator[Input]:
    there = drawn_slots(shown.hands.player.cards, shown.hands.banker.cards)
    player, banker = len(shown.hands.player.cards), len(shown.hands.banker.cards)
    slots = {(Side.PLAYER, 1): OTHER, (Side.PLAYER, player + 1): OTHER, (Side.BANKER, banker + 1): OTHER}
    if due is not None:
        slots[due[0], due[1] + 1] = OTHER
        slots.pop(due, None)
    for slot, face in slots.items():
        yield seen(f"{text(slot)} {face}", 1, in_slot(slot, face))
    for slot, card in there[:1] + there[1:][-1:]:
        yield seen(f"{text(slot)} {card} again", 1, in_slot(slot, str(card)))
    yield seen(f"{text(due or (Side.BANKER, 3))} unread", 1, in_slot(due or (Side.BANKER, 3), "?"))
    for place in (Place.OVERDRAW, Place.DEALT, Place.BURN):
        yield seen(f"{place.value} {OTHER}", 1, elsewhere(place, OTHER))


def beside_the_cards(shown: PublicState, due: Slot | None) -> Iterator[Input]:
    there = drawn_slots(shown.hands.player.cards, shown.hands.banker.cards)
    if due is not None:
        face = FACES[due][0]
        card, name = in_slot(due, face), f"{text(due)} {face}"
        before = there[-1][1] if there else None
        for known in (False, True):
            together = DrawnTogether(
                at=NOW, cards=(before, Card.parse(face)), order_known=known, evidence="40 ms apart"
            )
            yield seen(f"{name} together, order {'known' if known else 'unknown'}", 1, card, found=(together,))
        yield seen(f"{name} unshuffled", 1, card, found=(NotShuffled(at=NOW, cards=60, evidence="in suits"),))
    fault = FaultRaised(at=NOW, frame=FRAME, code=1, name="cannot-read", blocking=True, meaning=FaultMeaning.UNREAD)
    unread = Unread(at=NOW, meaning=FaultMeaning.UNREAD, code="", evidence="fault 1")
    yield seen("fault", 1, fault, found=(unread,))
    with_it = DrawnTogether(at=NOW, cards=(None,), order_known=False, evidence="fault 1 twice")
    yield seen("fault, drawn together", 1, fault, found=(unread, with_it))
    closed, opened = LinkClosed(at=NOW, reason="the cable is out"), LinkOpened(at=NOW, port=PORT)
    for continuity in Continuity:
        expected = "2" if continuity is Continuity.LOST else ""
        back = Resumed(at=NOW, frame=FRAME, continuity=continuity, expected=expected)
        yield seen(f"away, {continuity.value}", 1, closed, opened, back)
    yield seen("cut card, new shoe", 1, CutCardSeen(at=NOW, frame=FRAME), CommunicationStarted(at=NOW, frame=FRAME))
    yield seen("shoe loaded", 1, ShoeLoaded(at=NOW, frame=FRAME, set_id="A7"))
    yield seen("shoe emptied", 1, ShoeEmptySeen(at=NOW, frame=FRAME))


NOTICED: Final = (
    *(Kind.FOREIGN_CARD, Kind.CARD_EXPOSED, Kind.CARD_IN_EXCESS, Kind.DEALING_ERROR, Kind.WRONG_COUNT, Kind.FACE_UP),
    *(Kind.WRONG_SIDE, Kind.INTERRUPTION, Kind.INSURANCE_NEGLECTED, Kind.ORDER_ALTERED),
)


def of_people(shown: PublicState) -> Iterator[Input]:
    yield commanded("open-bets", 1, commands.OpenBets())
    yield commanded("close-bets", 1, commands.CloseBets())
    yield commanded("settle", 1, commands.SettleRound())
    yield commanded("new-shoe", 1, commands.StartShoe())
    yield commanded("empty-shoe", 1, commands.EmptyShoe())
    yield commanded("void", 1, commands.VoidRound())
    yield commanded("squeeze", 1, commands.GrantSqueeze())
    there = drawn_slots(shown.hands.player.cards, shown.hands.banker.cards)
    for kind in NOTICED:
        order = tuple(reversed([card for _, card in there[-2:]])) if kind is Kind.ORDER_ALTERED else ()
        at = max(1, len(there) - 1) if order else None
        yield commanded(f"notice {kind.value}", 1, commands.ReportIrregularity(kind=kind, order=order, at=at))
    for index in dict.fromkeys((1, len(there))):
        yield commanded(f"correct {index}", 1, commands.CorrectCard(index=index, card=CORRECTED))
    if (command := withdrawal()) is not None:
        yield commanded("withdraw", 1, command)


def withdrawal() -> AnyCommand | None:
    """The command that withdraws the first matter of the round, if the daemon has such a command."""
    try:
        command: AnyCommand = msgspec.convert({"command": "withdraw", "number": 1}, AnyCommand)
    except msgspec.ValidationError:
        return None
    return command


# --- answers


def role_of(asked: PublicQuestion) -> Role | None:
    """The lowest role that may answer; None: a player."""
    return None if asked.role == "player" else Role(asked.role or "dealer")


def answers(asked: PublicQuestion) -> Iterator[Input]:
    """Each choice by the lowest role. A question to a bettor is also answered by that bettor, at a cost."""
    role = role_of(asked)
    for name, choice in choices(asked):
        yield commanded(f"answer {name}", 0, Decide(question=asked.id, choice=choice), role)
    if asked.bettor is not None:
        name, choice = next(choices(asked))
        yield commanded(f"bettor a answers {name}", 1, Decide(question=asked.id, choice=choice, bettor="a"), role)


def too_low(asked: PublicQuestion) -> Input:
    """An answer by the role below the role of the question. For a player's question it is a dealer's answer."""
    role = role_of(asked)
    wrong = Role.DEALER if role is None else ABOVE[ABOVE.index(role) - 1]
    name, choice = next(choices(asked))
    return commanded(
        f"{wrong.value if wrong else 'player'} answers {name}", 0, Decide(question=asked.id, choice=choice), wrong
    )


def choices(asked: PublicQuestion) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """The answers with published consequences; for faces only some of them."""
    if asked.question == "face":
        yield ANSWERED_FACE, ANSWERED_FACE
        for word in asked.choices or ("foreign-card",):
            yield word, word
        return
    for each in asked.consequences:
        yield " ".join(each.choice), each.choice if asked.question == "card-order" else each.choice[0]
