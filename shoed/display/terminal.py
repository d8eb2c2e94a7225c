"""The tables as text: a coloured screen for a terminal, or one plain line for each event."""

import textwrap
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, assert_never

import msgspec

from shoed.bus.messages import StatusMessage
from shoed.display.layout import SGR, Importance, ScreenLine, screen_lines
from shoed.display.view import Retained, ShownDevice, ShownEvent, TableView, Update
from shoed.model import device_events, events
from shoed.model.cards import RANK_TEXT, Card, Suit
from shoed.model.events import Hand, RoundResult, Seen, Slot
from shoed.model.incarnations import JournalContinued
from shoed.model.observations import Outcome, Pair
from shoed.table.phase import Phase
from shoed.table.public_question import PublicQuestion
from shoed.table.public_state import LastRound, PublicState
from shoed.table.state import Comparison, LinkStatus

WIDTH: Final = 78
ROUNDS: Final = 6  # earlier rounds with one line each
BEADS: Final = 36  # earlier rounds with one letter each
CHOICES: Final = 4  # choices of a question with one line each; the screen counts the others
BANKER_AT: Final = 42  # the column of Banker's hand

PICTURES: Final = {Suit.SPADES: "♠", Suit.HEARTS: "♥", Suit.DIAMONDS: "♦", Suit.CLUBS: "♣"}


class Ink(Enum):
    BOLD = "1"
    DIM = "2"
    RED = "91"
    GREEN = "92"
    YELLOW = "93"
    BLUE = "94"
    RED_CARD = "31;107"
    BLACK_CARD = "30;107"


OUTCOME_INK: Final = {
    Outcome.PLAYER: Ink.BLUE,
    Outcome.BANKER: Ink.RED,
    Outcome.TIE: Ink.GREEN,
    Outcome.FORCED_END: Ink.YELLOW,
}
ANSWER_INK: Final = {
    Comparison.AWAITED: Ink.DIM,
    Comparison.CONFIRMED: Ink.GREEN,
    Comparison.DISPUTED: Ink.RED,
    Comparison.UNCONFIRMED: Ink.YELLOW,
}


def paint(text: str, *inks: Ink) -> str:
    return f"\x1b[{';'.join(ink.value for ink in inks)}m{text}\x1b[0m"


RULE: Final = paint("─" * WIDTH, Ink.DIM)


def pad(text: str, width: int) -> str:
    """Pad with spaces; colour codes have no width."""
    return text + " " * (width - len(SGR.sub("", text)))


# --- the screen


def screen(tables: Mapping[str, TableView]) -> list[ScreenLine]:
    return [line for name, view in sorted(tables.items()) for line in table(name, view)]


def table(name: str, view: TableView) -> list[ScreenLine]:
    *hands, lower_edge, points = felt(view)
    past = [past_round(played) for played in reversed(view.past[-ROUNDS:])]
    return [
        *screen_lines(Importance.ROUND, heading(name, view)),
        *screen_lines(Importance.SPACE, RULE),
        *screen_lines(Importance.HANDS, *hands),
        *screen_lines(Importance.CARD_EDGE, lower_edge),
        *screen_lines(Importance.HANDS, points),
        *screen_lines(Importance.REMARK, remark(view)),
        *screen_lines(Importance.QUESTION, *([] if view.question is None else question(view.question))),
        *screen_lines(Importance.HISTORY, beads(view)),
        *screen_lines(Importance.SPACE, ""),
        *screen_lines(Importance.HISTORY, *past),
        *screen_lines(Importance.SPACE, *[""] * (ROUNDS - len(past)), RULE),
        *screen_lines(Importance.HEALTH, *health(view)),
    ]


def heading(name: str, view: TableView) -> str:
    left = f"  {paint(name, Ink.BOLD)}  {paint(view.game, Ink.DIM)}"
    parts = [f"shoe {view.shoe}" if view.shoe else "", "cut card is out" if view.cut else ""]
    parts.append(f"round {view.round}" if view.round else "")
    right = " · ".join(filter(None, parts))
    return pad(left, WIDTH - 2 - len(right)) + right


def felt(view: TableView) -> list[str]:
    """Both hands with their cards, points and results."""
    result = view.past[-1].result if view.phase is Phase.COMPLETE and view.past else None
    player, banker = view.hands.player, view.hands.banker
    names = paint("PLAYER", Ink.BOLD, Ink.BLUE), paint("BANKER", Ink.BOLD, Ink.RED)
    points = (
        f"{total(player)}{verdict(result, Outcome.PLAYER, Pair.PLAYER)}",
        f"{total(banker)}{verdict(result, Outcome.BANKER, Pair.BANKER)}",
    )
    rows = [names, *zip(faces(player.cards), faces(banker.cards), strict=True), points]
    lines = [pad(f"  {left}", BANKER_AT) + right for left, right in rows]
    if view.phase is Phase.SUSPENDED:
        lines[-1] += paint("  suspended: waits for a person", Ink.YELLOW)
    return lines


def faces(cards: Sequence[Card]) -> list[str]:
    """Three rows: rank, suit, rank."""
    rows = ["", "", ""]
    for card in cards:
        ink = Ink.RED_CARD if card.suit in (Suit.HEARTS, Suit.DIAMONDS) else Ink.BLACK_CARD
        rank = RANK_TEXT[card.rank]
        for row, text in enumerate((f" {rank:<4}", f"  {PICTURES[card.suit]}  ", f"{rank:>4} ")):
            rows[row] += paint(text, ink) + " "
    return rows


def total(hand: Hand) -> str:
    return paint(f"{hand.points}", Ink.BOLD) if hand.cards else " "


def verdict(result: RoundResult | None, mine: Outcome, pair: Pair) -> str:
    if result is None:
        return ""
    words = [paint(" wins ", Ink.BOLD, OUTCOME_INK[mine])] if result.outcome is mine else []
    if result.outcome is Outcome.TIE:
        words.append(paint(" tie ", Ink.BOLD, Ink.GREEN))
    if pair in result.pairs:
        words.append(paint(" pair ", Ink.YELLOW))
    return " ".join(["", *words])


def remark(view: TableView) -> str:
    return paint(f"  {event_line(view.remark).strip()}"[:WIDTH], Ink.DIM) if view.remark else ""


def question(asked: PublicQuestion) -> list[str]:
    """The text of the question, the role that decides with its ground, and the effect of each choice."""
    lines = [paint(each, Ink.BOLD, Ink.YELLOW) for each in wrapped(asked.text)]
    lines += wrapped(f"{asked.decided_by} {asked.ground}")
    for each in asked.consequences[:CHOICES]:
        lines += wrapped(f"- {','.join(each.choice)}: {each.effect}")
    more = len(asked.consequences) - CHOICES
    return lines + [f"  and {more} more choices"] * (more > 0)


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def beads(view: TableView) -> str:
    """The outcomes of the rounds of this shoe, one letter each."""
    outcomes = [played.result.outcome for played in view.past if played.shoe == view.shoe]
    letters = " ".join(paint(each.value[0].upper(), OUTCOME_INK[each]) for each in outcomes[-BEADS:])
    return f"  {letters or paint('no round yet', Ink.DIM)}"


def past_round(played: LastRound) -> str:
    player, banker = played.hands.player, played.hands.banker
    outcome = paint(f"{played.result.outcome.value:<6}", OUTCOME_INK[played.result.outcome])
    cards = pad(small(player.cards), 12) + "  " + pad(small(banker.cards), 12)
    pairs = (
        "both pairs" if len(played.result.pairs) > 1 else "".join(f"{pair.value} pair" for pair in played.result.pairs)
    )
    answer = "" if played.answer is Comparison.AWAITED else played.answer.value
    return (
        f"{played.round:>5}  {outcome}  {player.points} : {banker.points}   {cards}  "
        f"{paint(f'{answer:<11}', ANSWER_INK[played.answer])} {paint(pairs, Ink.YELLOW)}"
    )


def small(cards: Sequence[Card]) -> str:
    return " ".join(
        paint(text, Ink.RED) if card.suit in (Suit.HEARTS, Suit.DIAMONDS) else text
        for card in cards
        for text in (RANK_TEXT[card.rank] + PICTURES[card.suit],)
    )


def health(view: TableView) -> list[str]:
    presence = view.presence
    daemon = ["unknown"] if presence is None else [presence.status.value, presence.reason]
    return [
        *(device_lamp(device.value, shown) for device, shown in view.devices.items()),
        lamp("daemon", [*daemon, f"event {view.sequence}"], well=daemon[0] == "online"),
    ]


def device_lamp(name: str, shown: ShownDevice) -> str:
    device = shown.public
    words = [device.link.value, device.reason or shown.port]
    if device.fault:
        words.append(f"fault {device.fault.code}, {device.fault.name}")
    if device.locked:
        words.append("locked")
    return lamp(name, words, well=device.link is LinkStatus.ONLINE and not device.fault and not device.reason)


def lamp(name: str, words: Sequence[str], *, well: bool) -> str:
    return f"  {name:<9}{paint('●', Ink.GREEN if well else Ink.RED)} {' · '.join(filter(None, words))}"


# --- plain lines


def plain(heard: Update) -> str | None:
    """One message as a line; None for a message that has no line."""
    match heard:
        case StatusMessage(status=presence, reason=reason):
            return f"the daemon is {presence.value}: {reason}"
        case ShownEvent():
            return event_line(heard)
        case Retained(question=PublicQuestion() as asked):
            return f"  {asked.text} {asked.decided_by}"
        case PublicState() | Retained():
            return None
        case _:
            assert_never(heard)


NOTHING: Final = Seen()


def event_line(event: ShownEvent) -> str:  # noqa: C901, PLR0912 -- one case for each kind of event
    """One event as plain text, with the card names of the events."""
    match event.data:
        case events.ShoeStarted(shoe=shoe):
            return f"shoe {shoe}"
        case events.ShoeCut():
            return "the cut card is out"
        case events.RoundStarted(shoe=shoe, round=number):
            return f"shoe {shoe} round {number}"
        case events.CardDrawn(hand=hand, card=card, points=points):
            return f"  {hand.value} {card.value:<3}  player {points.player}, banker {points.banker}"
        case events.CardSetAside(card=card, reason=reason, reported=seen):
            why = f"{reason} {seen.unknown}" if seen.unknown else reason
            return f"{card.value if card else 'an unreadable card'} set aside: {why}"
        case events.RoundCompleted(player=player, banker=banker, outcome=outcome, pairs=pairs):
            score = f"{outcome.value}, player {player.points} ({ascii_cards(player)}), "
            score += f"banker {banker.points} ({ascii_cards(banker)})"
            return f"  result: {score}{''.join(f', {pair.value} pair' for pair in pairs)}"
        case events.RoundConfirmed():
            return "  the shoe confirms the result"
        case events.RoundDisputed(theirs=theirs):
            return (
                f"  DISPUTED: the shoe reports {theirs.outcome.value}"
                f"{''.join(f', {p.value} pair' for p in theirs.pairs)}"
            )
        case events.RoundUnconfirmed(round=number):
            return f"  the shoe sent no result for round {number}"
        case events.RoundSuspended(due=due, seen=seen):
            what = f"; the shoe reported {reported(seen)}" if seen != NOTHING else ""
            return f"  SUSPENDED: {slot(due)} was due{what}"
        case events.RoundOvertaken(round=number):
            return f"  the next round has started; the questions of round {number} remain open"
        case events.RoundAbandoned(round=number):
            return f"  round {number} is abandoned without a result"
        case events.BetsClosed():
            return "  no more bets"
        case events.IrregularityNoticed(kind=kind, evidence=evidence):
            return f"  {kind.upper()}: {evidence}"
        case events.IrregularityRuled(kind=kind, then=then, clause=clause):
            return f"  {kind}: {then}, {clause or 'the document is silent'}"
        case events.QuestionAsked(id=number, question=question, role=role):
            return f"  question {number}: {question}, for {role or 'any role'}"
        case events.QuestionAnswered(id=number, choice=choice, author=author):
            return f"  question {number}: {' '.join(choice)}, answered by {author}"
        case events.RoundResumed(due=due):
            return f"  the round continues; {slot(due)} is due"
        case events.RoundCorrected(player=player, banker=banker, outcome=outcome):
            score = f"player {player.points} ({ascii_cards(player)}), banker {banker.points} ({ascii_cards(banker)})"
            return f"  CORRECTED: {outcome.value if outcome else 'a card is due'}, {score}"
        case events.RoundVoided(round=number, clause=clause):
            return f"  round {number} is VOID: {clause or 'the document is silent'}; every stake is returned"
        case events.RoundSettled(round=number):
            return f"  round {number} is settled"
        case device_events.DeviceOnline(device=device, port=port):
            return f"the {device.value} is online: {port}"
        case device_events.DeviceOffline(device=device, reason=reason):
            return f"the {device.value} is offline: {reason}"
        case device_events.DeviceDoubted(device=device, reason=reason, detail=detail):
            return f"the {device.value} is not reliable, {reason.value}: {detail}"
        case JournalContinued(incarnation=word, reason=reason, detail=detail):
            return f"the journal continues as {word}, {reason.value}: {detail}"
        case _:
            return f"{event.kind} {msgspec.json.encode(event.data).decode()}"


def ascii_cards(hand: Hand) -> str:
    return " ".join(card.value for card in hand.cards)


def slot(due: Slot | None) -> str:
    return f"card {due.position} of {due.hand.value}" if due else "no card"


def reported(seen: Seen) -> str:
    if seen.result:
        return f"result {seen.result.outcome.value}"
    card = seen.card.value if seen.card else "an unreadable card"
    if seen.unknown:
        return f"{card} with the unknown {seen.unknown}"
    return f"{card}, card {seen.position} of {seen.hand}" if seen.hand else card
