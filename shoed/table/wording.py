"""A question in plain words: what happened, on which ground it is asked, and who decides it.

The phrases are tables, and the functions join them with the cards and the number of the round.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from shoed.events import Slot
from shoed.observations import Outcome, Pair
from shoed.rules.book import RuleBook, Then
from shoed.rules.irregular import rows_of
from shoed.rules.questions import Ask, Choice
from shoed.table.asking import FOREIGN, NO_CARD, OTHERS, Asked, Doubt
from shoed.table.matters import Matter, Status
from shoed.table.phase import Phase
from shoed.table.readings import Reading, first_of_either
from shoed.table.record import Record, Report, facts, reported_as
from shoed.words import PLAYER, Role, Stage
from shoed.words import Event as Kind

HAPPENED: Final[Mapping[Kind, str]] = {  # the others name the card after which it was noticed
    Kind.FOREIGN_CARD: "{card} does not belong to the set",
    Kind.DECK_COUNT: "the set has too many or too few cards",
    Kind.NOT_SHUFFLED: "the cards were not shuffled",
    Kind.WRONG_COUNT: "a hand has a wrong number of cards",
    Kind.TOO_FEW_CARDS: "the shoe has too few cards to complete the round",
    Kind.DRAWN_TOGETHER: "{cards} left the shoe together",
    Kind.SET_REPLACED: "a new set of cards is due, and the old set is still in the shoe",
    Kind.ORDER_ALTERED: "the order of the cards was altered from {card} on",
    Kind.CARD_IN_EXCESS: "{card} was drawn in excess",
    Kind.CARD_EXPOSED: "{card} was exposed",
    Kind.WRONG_SIDE: "{card} was dealt to the wrong side",
    Kind.FACE_UP: "{card} was dealt face up",
    Kind.DEALING_ERROR: "a dealing error occurred at {card}",
    Kind.INSURANCE_NEGLECTED: "insurance was not offered {stage}",
    Kind.INTERRUPTION: "the game was interrupted",
    Kind.NOTICED_LATE: "an irregularity was noticed late",
    Kind.OTHER: "an irregularity of no listed kind was reported",
}
STAGES: Final[Mapping[Stage, str]] = {
    Stage.AFTER_FOUR: "after the first four cards",
    Stage.AFTER_PLAYER_THIRD: "after Player's third card",
}
QUESTIONS: Final[Mapping[Ask | Doubt, str]] = {
    Ask.OPTION: "Does the player continue, or take the bets back?",
    Ask.CARD_ORDER: "In which order do these cards count?",
    Ask.RECONSTRUCTABLE: "Can the cards be put back in their order?",
    Ask.RULING: "Does the round continue, or is it void?",
    Ask.SET_REPLACED: "Is the set of cards replaced after this round?",
    Ask.NEXT_ROUND: "May play continue?",
    Ask.INTENDED: "Did the player intend to take insurance?",
    Doubt.FACE: "Which card is it?",
    Doubt.READING: "What does this report mean?",
    Doubt.GAP: "Reports may be missing. Are the cards shown the cards on the table?",
    Doubt.CONFIRM: "Is this correct?",
    Doubt.RESTART: "Is a new shoe at the table, or did the shoe only start again?",
}
TO_OTHERS: Final[Mapping[Ask | Doubt, str]] = {
    Ask.OPTION: "Do the players who have not decided continue, or take their bets back?",
    Ask.INTENDED: "Did the players who have not answered intend to take insurance?",
}
DECIDED_BY: Final[Mapping[str | Role | None, str]] = {
    None: "Any employee at the table decides.",
    PLAYER: "The player decides.",
    Role.DEALER: "The dealer or a higher role decides.",
    Role.PIT_SUPERVISOR: "The pit supervisor or a higher role decides.",
    Role.PIT_MANAGER: "The pit manager or a higher role decides.",
    Role.SHIFT_MANAGER: "The shift manager decides.",
}
OF_AN_ORDER: Final = 0
NO_PROVISION: Final = 1
BETWEEN_ROUNDS: Final = 7
OF_THE_RECORD: Final = 11
OUR_READINGS: Final[Mapping[int, str]] = {
    OF_AN_ORDER: (
        "Fortune Six: cards drawn together after the initial deal are outside 5.3. If the order of the cards is not "
        "known, a person decides whether 5.4 applies."
    ),
    NO_PROVISION: (
        "A missing provision is not filled from another game. The round waits, a person decides, and the record says "
        "that the document is silent."
    ),
    BETWEEN_ROUNDS: (
        "An irregularity that is found between two rounds voids no round. It is recorded, and the next round waits "
        "for a person."
    ),
    OF_THE_RECORD: (
        "No document describes the record of the cards. The pit supervisor or a higher role corrects the record, "
        "confirms a suspicion and decides what an unexpected report means."
    ),
}
SILENT: Final[Mapping[Ask | Doubt, int]] = {
    **dict.fromkeys(Ask, NO_PROVISION),
    **dict.fromkeys(Doubt, OF_THE_RECORD),
    Ask.NEXT_ROUND: BETWEEN_ROUNDS,
}

# --- effects

# The first sentence about a choice. A choice that is absent is described by the round that follows from it.
EFFECTS: Final[Mapping[tuple[Ask | Doubt, str], str]] = {
    (Ask.OPTION, Choice.CONTINUE.value): "The bets stay in play",
    (Ask.OPTION, Choice.RETURN.value): "The bets are returned",
    (Ask.RECONSTRUCTABLE, Choice.YES.value): "The cards are put back in their order",
    (Ask.RECONSTRUCTABLE, Choice.NO.value): "The cards are not put back",
    (Ask.SET_REPLACED, Choice.YES.value): "The next round is dealt from a new set of cards",
    (Ask.SET_REPLACED, Choice.NO.value): "The set stays in the shoe",
    (Ask.NEXT_ROUND, Choice.GO_ON.value): "The matter is closed",
    (Ask.NEXT_ROUND, Reading.CARRIED.value): "The card opens the round",
    (Ask.INTENDED, Choice.YES.value): "The Original Bet is returned",
    (Ask.INTENDED, Choice.NO.value): "The Original Bet stays as it is",
    (Doubt.FACE, FOREIGN): "The card does not belong to the set",
    (Doubt.FACE, NO_CARD): "No card left the shoe",
    (Doubt.CONFIRM, Choice.YES.value): "The irregularity is confirmed",
    (Doubt.CONFIRM, Choice.NO.value): "The suspicion is withdrawn",
    (Doubt.READING, Reading.MISSED.value): "The card that is due left the shoe without a report",
    (Doubt.READING, Reading.WRONG_SIDE.value): "The card that is due was dealt to the wrong side",
    (Doubt.READING, Reading.SAME_CARD.value): "The shoe reported a card twice; no further card was drawn",
    (Doubt.READING, Reading.READ_AGAIN.value): "The shoe corrected the face of a card; no further card was drawn",
    (Doubt.READING, Reading.DUE.value): "The card is the card that is due",
    (Doubt.READING, Reading.EXCESS.value): "The card was drawn in excess",
    (Doubt.READING, Reading.CARRIED.value): "The card that was left over opens this round",
    (Doubt.READING, Reading.NOT_CARRIED.value): "The card that was left over was put away",
    (Doubt.READING, Reading.INTERRUPTION.value): "The game was interrupted",
    (Doubt.READING, Reading.NEXT_ROUND.value): "The card belongs to the next round",
    (Doubt.READING, Reading.NOT_SO.value): "The result that the shoe reported is wrong",
    (Doubt.READING, Reading.PUT_AWAY.value): "The card is put away and is not a card of this round",
    (Doubt.READING, Reading.NONE_OF_THESE.value): "The report is left out, and the document decides",
    (Doubt.GAP, Reading.SHOWN.value): "The cards shown are the cards on the table",
    (Doubt.GAP, Reading.MISSED.value): "The card that is due left the shoe without a report",
    (Doubt.GAP, Reading.NEXT_ROUND.value): "The card belongs to the next round",
    (Doubt.GAP, Reading.INTERRUPTION.value): "The game was interrupted",
    (Doubt.GAP, Reading.NONE_OF_THESE.value): "The round is abandoned and has no result",
    (Doubt.RESTART, Reading.RECONNECTION.value): "The shoe that was cut only started again",
    (Doubt.RESTART, Reading.NEW_SHOE.value): "A new shoe begins. The round is abandoned and has no result",
}
PUT_AWAY: Final = "The card is put away"
ABANDONED: Final = "The round is abandoned and has no result."
THEN: Final[Mapping[str, str]] = {
    Ask.OPTION.value: "Then each player continues, or takes the bets back.",
    Ask.CARD_ORDER.value: "Then the order of the cards is asked.",
    Ask.RECONSTRUCTABLE.value: "Then it is asked whether the cards can be put back.",
    Ask.RULING.value: "Then it is asked whether the round continues or is void.",
    Ask.NEXT_ROUND.value: "Then it is asked whether play may continue.",
    Doubt.FACE.value: "Then the face of a card is asked.",
    Doubt.READING.value: "Then it is asked what the next report means.",
    Doubt.GAP.value: "Then it is asked whether the cards shown are the cards on the table.",
    Doubt.CONFIRM.value: "Then it is asked whether a suspicion is correct.",
    Doubt.RESTART.value: "Then it is asked whether a new shoe is at the table.",
}
HANDS: Final[Mapping[str | None, str]] = {Pair.PLAYER.value: "Player", Pair.BANKER.value: "Banker"}
POSITIONS: Final[Mapping[int | None, str]] = {1: "first", 2: "second", 3: "third"}
WINS: Final[Mapping[Outcome, str]] = {
    Outcome.PLAYER: "Player wins",
    Outcome.BANKER: "Banker wins",
    Outcome.TIE: "Tie",
    Outcome.FORCED_END: "forced end",
}
THIRD: Final = 3


def effect_of(asked: Asked, choice: str, clause: str | None) -> str:
    """The first sentence about a choice; empty: the round that follows says it all."""
    said = EFFECTS.get((asked.ask, choice), "")
    if choice == Choice.GO_ON.value and Reading.CARRIED.value in asked.choices:
        said = PUT_AWAY
    if choice == Reading.PUT_AWAY.value and Reading.NEXT_ROUND.value in asked.choices:  # no round is open
        said = PUT_AWAY
    return f"{said}{f' ({clause})' if clause else ''}." if said else ""


def draws(due: Slot) -> str:
    hand = HANDS[due.hand.value]
    if due.position == THIRD:
        return f"{hand} draws a third card."
    return f"{hand}'s {POSITIONS[due.position]} card is next."


# --- what happened

OF_THE_ROUND: Final = (Status.SUSPECTED, Status.OPEN, Status.RULED)  # any other matter was found before it, or after it


def text_of(record: Record, asked: Asked, due: Slot | None) -> str:
    about = None if asked.matter is None else record.matter(asked.matter)
    match asked.ask:
        case Doubt.FACE:
            where = f", {in_hand(due.hand.value, due.position)}," if due and due.index == asked.index else ""
            happened = f"card {asked.index}{where} left the shoe, and its face is not known"
        case Doubt.RESTART:
            waits = f", and {reported(record)}" if first_of_either(record) else ""
            happened = f"the shoe started again after its cut card{waits}, and {is_due(due)}"
        case _ if about is None:
            happened = f"{reported(record)}, and {is_due(due)}"
        case Doubt.CONFIRM:
            happened = f"it is suspected that {happening(record, asked)}"
        case _:
            happened = happening(record, asked)
    return f"{when(record, about)}: {happened}. {question_of(record, asked, about)}"


def question_of(record: Record, asked: Asked, about: Matter | None) -> str:
    if Reading.CARRIED.value in asked.choices and about is not None:
        this = "this" if about.status is Status.HOLDING or awaits_first_card(record) else "the next"
        return f"Does {about.face} open {this} round?"
    return (TO_OTHERS if asked.bettor == OTHERS else QUESTIONS)[asked.ask]


def awaits_first_card(record: Record) -> bool:
    """Whether the round is open, and none of its cards left the shoe."""
    return record.play in (Phase.BETTING, Phase.CLOSED) and record.published.voided is None


def when(record: Record, about: Matter | None) -> str:
    if not record.number:
        return f"Before the first round of shoe {record.shoe}" if record.shoe else "Before the first round"
    if about is None or about.status in OF_THE_ROUND:
        return f"Round {record.number}"
    after = about.status is Status.CARRIED_OVER and about.id > record.given and not awaits_first_card(record)
    return f"{'After' if after else 'Before'} round {record.number}"


def happening(record: Record, asked: Asked) -> str:
    """What happened, with its cards, or else with the last card before it was noticed."""
    about = record.matter(asked.matter or 0)
    happened, phrase = facts(record, about), HAPPENED[about.kind]
    in_round = about.status in OF_THE_ROUND
    at = happened.at if in_round else 0
    stage = STAGES[happened.stage]
    if not at:
        said = phrase.format(card=about.face or "a card", cards="cards", stage=stage)
    else:
        together = [named(record, each) for each in range(at, at + happened.count)]
        other = "a card that was not read" if asked.ask is Doubt.CONFIRM else "a card of no hand of this round"
        cards = joined(together if together[1:] else (*together, other))
        said = phrase.format(card=named(record, at), cards=cards, stage=stage)
    if not in_round or (at and "{" in phrase):
        return said
    last = happened.noticed_at
    return f"{said}, noticed {f'after {named(record, last)}' if last else 'before the first card'}"


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def named(record: Record, ordinal: int) -> str:
    there = record.drawn
    if not 1 <= ordinal <= len(there):
        return f"card {ordinal}"
    return f"card {ordinal} ({there[ordinal - 1].face or 'not read'})"


def reported(record: Record) -> str:
    """The report that is not due."""
    if record.result_is_early and record.early is not None:
        return f"the shoe reported a result ({WINS[record.early.result.outcome]})"
    first = record.waiting[0]
    match first.report:
        case Report.OVERDRAWN | Report.UNKNOWN:
            where = reported_as(first.report, first.seen)
        case Report.SLOT if first.seen.hand in HANDS:
            where = f"as {in_hand(first.seen.hand, first.seen.position)}"
        case _:
            where = "in no hand"
    return f"the shoe reported {first.face or 'a card without a face'} {where}"


def in_hand(hand: str | None, position: int | None) -> str:
    return f"{HANDS[hand]}'s {POSITIONS.get(position, f'number {position}')} card"


def is_due(due: Slot | None) -> str:
    return "no card is due" if due is None else f"{in_hand(due.hand.value, due.position)} is due"


# --- the ground


def ground_of(book: RuleBook, ask: Ask | Doubt, clause: str, kind: Kind | None) -> str:
    if clause:
        return f"Clause {clause}, {book.title}."
    rows = [] if kind is None else rows_of(book, kind)
    if ask is Ask.RULING and any(each.then is Then.ASK and each.reading for each in rows):
        return f"The document is silent; reading {OF_AN_ORDER} of our readings."
    if ask is Ask.NEXT_ROUND and any(each.clause for each in rows):
        return f"The document describes this during a round only; reading {BETWEEN_ROUNDS} of our readings."
    return f"The document is silent; reading {SILENT[ask]} of our readings."


def decided_by(asked: Asked) -> str:
    if asked.role == PLAYER and asked.bettor == OTHERS:
        return "Each player decides."
    return DECIDED_BY[asked.role]
