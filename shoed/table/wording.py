"""A question in plain words: the facts, the ground of the question, and the role that decides.

The phrases are tables. The functions join the phrases with the cards and the number of the round.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from shoed.model.events import Slot
from shoed.model.irregularities import PLAYER, Role, Stage
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.observations import Outcome, Side
from shoed.rules.book import RuleBook, Then
from shoed.rules.irregular import rows_of
from shoed.rules.questions import Ask, Choice
from shoed.table.asking import FOREIGN, NO_CARD, OTHERS, RecordAsk, RoundQuestion
from shoed.table.matters import Matter, Status
from shoed.table.phase import Phase
from shoed.table.readings import Reading, first_of_either
from shoed.table.record import Record, ReportedPlace, facts, reported_as

# A phrase without a card gets the card after which the irregularity was noticed.
DESCRIPTIONS: Final[Mapping[Kind, str]] = {
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
    Kind.OTHER: "an irregularity of an unlisted kind occurred",
}
STAGES: Final[Mapping[Stage, str]] = {
    Stage.AFTER_FOUR: "after the first four cards",
    Stage.AFTER_PLAYER_THIRD: "after Player's third card",
}
QUESTIONS: Final[Mapping[Ask | RecordAsk, str]] = {
    Ask.OPTION: "Does the player continue, or take the bets back?",
    Ask.CARD_ORDER: "In which order do these cards count?",
    Ask.RECONSTRUCTABLE: "Can the cards be put back in their order?",
    Ask.RULING: "Does the round continue, or is it void?",
    Ask.SET_REPLACED: "Must the set of cards be replaced after this round?",
    Ask.NEXT_ROUND: "May play continue?",
    Ask.INTENDED: "Did the player intend to take insurance?",
    RecordAsk.FACE: "Which card is it?",
    RecordAsk.READING: "What does this report mean?",
    RecordAsk.GAP: "Reports may be missing. What happened?",
    RecordAsk.CONFIRM: "Is this correct?",
    RecordAsk.RESTART: "Is a new shoe at the table, or did the same shoe restart?",
}
TO_OTHERS: Final[Mapping[Ask | RecordAsk, str]] = {
    Ask.OPTION: "Do the players without an individual answer continue, or take their bets back?",
    Ask.INTENDED: "Did the players without an individual answer intend to take insurance?",
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
NEXT_ROUND_BEGAN: Final = 6
BETWEEN_ROUNDS: Final = 7
OF_THE_RECORD: Final = 11
INTERPRETATIONS: Final[Mapping[int, str]] = {
    OF_AN_ORDER: (
        "Fortune Six: cards drawn together after the initial deal are outside 5.3. If the order of the cards is not "
        "known, a person decides whether 5.4 applies."
    ),
    NO_PROVISION: (
        "A missing provision is not filled from another game. The round waits, a person decides, and the record "
        "states that the document is silent."
    ),
    NEXT_ROUND_BEGAN: (
        "An irregularity that is noticed after the next round began is recorded. It changes neither the old round nor "
        "a later round."
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
SILENT: Final[Mapping[Ask | RecordAsk, int]] = {
    **dict.fromkeys(Ask, NO_PROVISION),
    **dict.fromkeys(RecordAsk, OF_THE_RECORD),
    Ask.NEXT_ROUND: BETWEEN_ROUNDS,
}

# --- effects

# The first sentence about a choice. For an absent choice, the effect on the round is the only sentence.
EFFECTS: Final[Mapping[tuple[Ask | RecordAsk, str], str]] = {
    (Ask.OPTION, Choice.CONTINUE.value): "The bets stay in play",
    (Ask.OPTION, Choice.RETURN.value): "Each player with this choice gets the bets of the round back",
    (Ask.RECONSTRUCTABLE, Choice.YES.value): "The cards are put back in their order",
    (Ask.RECONSTRUCTABLE, Choice.NO.value): "The cards cannot be put back in their order",
    (Ask.SET_REPLACED, Choice.YES.value): "The next round is dealt from a new set of cards",
    (Ask.SET_REPLACED, Choice.NO.value): "The set stays in the shoe",
    (Ask.NEXT_ROUND, Choice.GO_ON.value): "Play continues",
    (Ask.NEXT_ROUND, Reading.CARRIED.value): "The left-over card is the first card of the next round to be dealt",
    (Ask.INTENDED, Choice.YES.value): "The Original Bet is returned",
    (Ask.INTENDED, Choice.NO.value): "The Original Bet is settled by the result",
    (RecordAsk.FACE, FOREIGN): "The card does not belong to the set",
    (RecordAsk.FACE, NO_CARD): "No card left the shoe",
    (RecordAsk.CONFIRM, Choice.YES.value): "The irregularity is confirmed",
    (RecordAsk.CONFIRM, Choice.NO.value): "The irregularity is denied and has no effect",
    (RecordAsk.READING, Reading.MISSED.value): "The due card left the shoe without a report",
    (RecordAsk.READING, Reading.WRONG_SIDE.value): "The due card was dealt to the wrong side",
    (RecordAsk.READING, Reading.SAME_CARD.value): "The shoe reported a card twice; no further card was drawn",
    (RecordAsk.READING, Reading.READ_AGAIN.value): "The shoe corrected the face of a card; no further card was drawn",
    (RecordAsk.READING, Reading.DUE.value): "The reported card is the due card",
    (RecordAsk.READING, Reading.EXCESS.value): "The reported card was drawn in excess",
    (RecordAsk.READING, Reading.CARRIED.value): "The left-over card is the first card of this round",
    (RecordAsk.READING, Reading.NOT_CARRIED.value): "The left-over card was put away",
    (RecordAsk.READING, Reading.INTERRUPTION.value): "The game was interrupted",
    (RecordAsk.READING, Reading.NEXT_ROUND.value): "The reported card belongs to the next round",
    (RecordAsk.READING, Reading.NOT_SO.value): "The reported result is wrong",
    (RecordAsk.READING, Reading.PUT_AWAY.value): "The reported card is put away and is not a card of this round",
    (
        RecordAsk.READING,
        Reading.NONE_OF_THESE.value,
    ): "The report is withdrawn from the round. A person decides about the round",
    (RecordAsk.GAP, Reading.SHOWN.value): "The cards shown are the cards on the table",
    (RecordAsk.GAP, Reading.MISSED.value): "The due card left the shoe without a report",
    (RecordAsk.GAP, Reading.NEXT_ROUND.value): "The reported card belongs to the next round",
    (RecordAsk.GAP, Reading.INTERRUPTION.value): "The game was interrupted",
    (RecordAsk.GAP, Reading.NONE_OF_THESE.value): "The present round is abandoned and has no result",
    (RecordAsk.RESTART, Reading.RECONNECTION.value): "The same shoe restarted",
    (RecordAsk.RESTART, Reading.NEW_SHOE.value): "A new shoe begins. The present round is abandoned and has no result",
}
PUT_AWAY: Final = "The card is put away"
ABANDONED: Final = "The present round is abandoned and has no result."
THEN: Final[Mapping[str, str]] = {
    Ask.OPTION.value: "Next question: does each player continue, or take the bets back?",
    Ask.CARD_ORDER.value: "Next question: in which order do the cards count?",
    Ask.RECONSTRUCTABLE.value: "Next question: can the cards be put back in their order?",
    Ask.RULING.value: "Next question: does the round continue, or is it void?",
    Ask.NEXT_ROUND.value: "Next question: may play continue?",
    RecordAsk.FACE.value: "Next question: which card is the card without a known face?",
    RecordAsk.READING.value: "Next question: what does the next report mean?",
    RecordAsk.GAP.value: "Next question: what happened while reports were missing?",
    RecordAsk.CONFIRM.value: "Next question: is a suspicion correct?",
    RecordAsk.RESTART.value: "Next question: is a new shoe at the table?",
}
HANDS: Final[Mapping[str | None, str]] = {Side.PLAYER.value: "Player", Side.BANKER.value: "Banker"}
POSITIONS: Final[Mapping[int | None, str]] = {1: "first", 2: "second", 3: "third"}
OUTSIDE: Final[Mapping[ReportedPlace, str]] = {
    ReportedPlace.BURNT: "as a burn card",
    ReportedPlace.LOCKED: "while it was locked",
    ReportedPlace.IN_ERROR: "while it was in error",
}
WINS: Final[Mapping[Outcome, str]] = {
    Outcome.PLAYER: "Player wins",
    Outcome.BANKER: "Banker wins",
    Outcome.TIE: "Tie",
    Outcome.FORCED_END: "forced end",
}
THIRD: Final = 3


def effect_of(asked: RoundQuestion, choice: str, clause: str | None) -> str:
    """The first sentence about a choice; empty: the choice has none."""
    sentence = EFFECTS.get((asked.ask, choice), "")
    if choice == Choice.GO_ON.value and Reading.CARRIED.value in asked.choices:
        sentence = PUT_AWAY
    if choice == Reading.PUT_AWAY.value and Reading.NEXT_ROUND.value in asked.choices:  # no round is open
        sentence = PUT_AWAY
    return f"{sentence}{f' ({clause})' if clause else ''}." if sentence else ""


def draws(due: Slot) -> str:
    hand = HANDS[due.hand.value]
    if due.position == THIRD:
        return f"{hand} draws a third card."
    return f"{hand}'s {POSITIONS[due.position]} card is next."


# --- the facts

OF_THE_ROUND: Final = (Status.SUSPECTED, Status.OPEN, Status.RULED)  # other matters are found between two rounds


def text_of(record: Record, asked: RoundQuestion, due: Slot | None) -> str:
    about = None if asked.matter is None else record.matter(asked.matter)
    match asked.ask:
        case RecordAsk.FACE:
            where = f", {in_hand(due.hand.value, due.position)}," if due and due.index == asked.index else ""
            statement = f"the face of card {asked.index}{where} is not known"
        case RecordAsk.RESTART:
            waits = f", and {reported(record)}" if first_of_either(record) else ""
            statement = f"the shoe restarted after its cut card{waits}, and {is_due(due)}"
        case _ if about is None:
            statement = f"{reported(record)}, and {is_due(due)}"
        case RecordAsk.CONFIRM:
            source = "shoed suspects" if about.by is None else "a notice states"
            statement = f"{source} that {description(record, asked)}"
        case _:
            statement = description(record, asked)
    return f"{when(record, about)}: {statement}. {question_of(record, asked, about)}"


def question_of(record: Record, asked: RoundQuestion, about: Matter | None) -> str:
    if Reading.CARRIED.value in asked.choices and about is not None:
        this = "this" if about.status is Status.HOLDING or awaits_first_card(record) else "the next"
        return f"Does {about.face} open {this} round?"
    return (TO_OTHERS if asked.bettor == OTHERS else QUESTIONS)[asked.ask]


def awaits_first_card(record: Record) -> bool:
    """Whether the round is open, and no card has left the shoe for it."""
    return record.play in (Phase.BETTING, Phase.CLOSED) and record.published.voided is None


def when(record: Record, about: Matter | None) -> str:
    if not record.number:
        return f"Before the first round of shoe {record.shoe}" if record.shoe else "Before the first round"
    if about is None or about.status in OF_THE_ROUND:
        return f"Round {record.number}"
    after = about.status is Status.CARRIED_OVER and about.id > record.earlier_matters and not awaits_first_card(record)
    return f"{'After' if after else 'Before'} round {record.number}"


def description(record: Record, asked: RoundQuestion) -> str:
    """The irregularity with its cards, or with the last card before it was noticed."""
    about = record.matter(asked.matter or 0)
    irregularity, phrase = facts(record, about), DESCRIPTIONS[about.kind]
    in_round = about.status in OF_THE_ROUND
    at = irregularity.at if in_round else 0
    stage = STAGES[irregularity.stage]
    if not at:
        sentence = phrase.format(card=about.face or "a card", cards="cards", stage=stage)
    else:
        together = [named(record, each) for each in range(at, at + irregularity.count)]
        other = "a card that was not read" if asked.ask is RecordAsk.CONFIRM else "a card of no hand of this round"
        cards = joined(together if together[1:] else (*together, other))
        sentence = phrase.format(card=named(record, at), cards=cards, stage=stage)
    if not in_round or (at and "{" in phrase):
        return sentence
    last = irregularity.noticed_at
    return f"{sentence}, noticed {f'after {named(record, last)}' if last else 'before the first card'}"


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def named(record: Record, ordinal: int) -> str:
    drawn = record.drawn
    if not 1 <= ordinal <= len(drawn):
        return f"card {ordinal}"
    return f"card {ordinal} ({drawn[ordinal - 1].face or 'not read'})"


def reported(record: Record) -> str:
    """The words for a report that does not agree with the record."""
    if record.result_is_early and record.early is not None:
        return f"the shoe reported a result ({WINS[record.early.result.outcome]})"
    first = record.waiting[0]
    match first.report:
        case ReportedPlace.BURNT | ReportedPlace.LOCKED | ReportedPlace.IN_ERROR:
            where = OUTSIDE[first.report]
        case ReportedPlace.OVERDRAWN | ReportedPlace.UNKNOWN:
            where = reported_as(first.report, first.seen)
        case ReportedPlace.SLOT if first.seen.hand in HANDS:
            where = f"as {in_hand(first.seen.hand, first.seen.position)}"
        case _:
            where = "in no hand"
    return f"the shoe reported {first.face or 'a card without a face'} {where}"


def in_hand(hand: str | None, position: int | None) -> str:
    return f"{HANDS[hand]}'s {POSITIONS.get(position, f'number {position}')} card"


def is_due(due: Slot | None) -> str:
    return "no card is due" if due is None else f"{in_hand(due.hand.value, due.position)} is due"


# --- the ground


def ground_of(book: RuleBook, ask: Ask | RecordAsk, clause: str, kind: Kind | None) -> str:
    if clause:
        return f"Clause {clause}, {book.title}."
    rows = [] if kind is None else rows_of(book, kind)
    if ask is Ask.RULING and any(each.then is Then.ASK and each.reading for each in rows):
        return f"The document is silent; our interpretation {OF_AN_ORDER} applies."
    if ask is Ask.NEXT_ROUND and any(each.clause for each in rows):
        return (
            "The document describes this irregularity within a round only; "
            f"our interpretation {BETWEEN_ROUNDS} applies."
        )
    return f"The document is silent; our interpretation {SILENT[ask]} applies."


def decided_by(asked: RoundQuestion) -> str:
    if asked.role == PLAYER and asked.bettor == OTHERS:
        return "Each player decides."
    return DECIDED_BY[asked.role]
