"""The text of a question: the matter, the ground, the deciding role, and the effect of each choice."""

import re
from collections.abc import Sequence
from itertools import product
from typing import Final

import pytest

from shoed.model.cards import Card
from shoed.model.events import RoundResult, Seen, Slot
from shoed.model.irregularities import PLAYER, Role, Stage
from shoed.model.irregularities import IrregularityKind as Kind
from shoed.model.observations import Outcome, Side
from shoed.rules.irregular import Irregularity
from shoed.rules.load import GAMES, book
from shoed.rules.questions import Ask, Decider
from shoed.table import PublicQuestion
from shoed.table.asking import HOLDING, RecordAsk, RoundQuestion
from shoed.table.matters import Matter, Status
from shoed.table.record import CardEntry, EarlyResult, Record, ReportedPlace, Where
from shoed.table.wording import (
    DECIDED_BY,
    DESCRIPTIONS,
    INTERPRETATIONS,
    POSITIONS,
    QUESTIONS,
    SILENT,
    STAGES,
    THEN,
    TO_OTHERS,
    WINS,
    draws,
    ground_of,
    in_hand,
    joined,
    text_of,
)
from tests.onlooker import Onlooker
from tests.shown import questions
from tests.trouble import troubled_rounds

ASKS: Final = (*Ask, *RecordAsk)
ROUND: Final = re.compile(r"^(Round|After round|Before round) \d+: |^Before the first round( of shoe \d+)?: ")
# A placeholder, a Python value, an identifier, or an incomplete sentence.
NOT_PLAIN: Final = re.compile(r"[{}<>_\[\]]|None|True|False|\bSlot\b|\.\.|  | \.|:\.|^\s|\s$")
SENTENCES: Final = re.compile(r"^[A-Z0-9].*[.?]$")
LONGEST: Final = 200  # characters: two short sentences


def texts(asked: PublicQuestion) -> Sequence[str]:
    return (asked.text, asked.ground, asked.decided_by, *(each.effect for each in asked.consequences))


def check_words(asked: PublicQuestion) -> None:
    for text in texts(asked):
        assert SENTENCES.match(text), text
        assert not NOT_PLAIN.search(text), text
        assert text.isascii(), text
    assert ROUND.match(asked.text), asked.text
    assert len(asked.text) <= LONGEST, asked.text
    if asked.text.startswith("Round"):
        assert asked.text.startswith(f"Round {asked.round}: ")


def check_ground(asked: PublicQuestion) -> None:
    """The ground names the clause of the question or the number of one of our interpretations."""
    if asked.clause is not None:
        assert asked.ground.startswith(f"Clause {asked.clause}, ")
        return
    number = re.search(r"our interpretation (\d+) applies\.$", asked.ground)
    assert number is not None
    assert int(number[1]) in INTERPRETATIONS


def test_each_question_of_the_scenarios_is_in_plain_words() -> None:
    """It covers the text, the ground, the role and an effect for each choice, after each step."""
    asked: set[str] = set()
    for _, question in questions():
        check_words(question)
        check_ground(question)
        covered = {each.choice[0] for each in question.consequences}
        assert set(question.choices) <= covered
        asked.add(question.question)
    assert asked == {each.value for each in ASKS}


class Reader(Onlooker):
    """Reads each question of a table."""

    read: int = 0

    def check_question(self) -> None:
        if self.asked is not None:
            check_words(self.asked)
            check_ground(self.asked)
            self.read += 1


def test_questions_of_rounds_with_irregularities_are_in_plain_words() -> None:
    """Several irregularities occur in one round."""
    read = 0
    for game, seed in product(GAMES, range(3)):
        reader = Reader(game)
        reader.play(troubled_rounds(2000 + seed))
        read += reader.read
    assert read


def test_a_text_names_the_cards() -> None:
    """The text names the cards of the question by their order in the shoe."""
    for written, asked in questions():
        match asked.question:
            case "card-order":
                cards = [f"card {each.index} ({each.card})" for each in asked.cards if str(each.card) in asked.choices]
                assert sum(each in asked.text for each in cards) >= len(asked.choices), written.name
            case "face":
                assert f"card {asked.index}" in asked.text
            case "reading" if asked.seen is not None and asked.seen.card is not None:
                assert re.search(r"reported (\d+|[AJQK])[SHDC] |reported a result", asked.text), written.name
            case _ if asked.kind in ("card-in-excess", "card-exposed", "wrong-side", "face-up"):
                named = re.search(r"card \d+ \((\w+)\)|: (\w+) was drawn", asked.text)
                assert named is not None or asked.text.startswith("Before round"), written.name
            case _:
                pass


@pytest.mark.parametrize(
    ("name", "text", "ground", "effects"),
    [
        (
            "excess-c-opens-the-next-round",
            "Round 1: card 5 (5D) was drawn in excess. Can the cards be put back in their order?",
            "Clause 5.7, Commission Baccarat.",
            [
                (
                    "The cards are put back in their order. The round is complete: Player wins, 8 to 7. "
                    "5D opens the next round."
                ),
                "The cards cannot be put back in their order. The round is void (5.5.3); all bets are returned.",
            ],
        ),
        (
            "excess-c-after-a-void",
            "After round 1: JD was drawn in excess. Does JD open the next round?",
            "Clause 5.7, Commission Baccarat.",
            ["JD opens the next round. The next round may begin.", "The card is put away. The next round may begin."],
        ),
        (
            "dealing-error-et-easy-six",
            "Round 1: a dealing error occurred at card 2 (3H). Does the round continue, or is it void?",
            "The document is silent; our interpretation 1 applies.",
            [
                "The round continues. Player's second card is next.",
                "The round is void (the document is silent); all bets are returned.",
            ],
        ),
        (
            "together-unknown-f-after-the-deal",
            "Round 1: card 5 (10H) and card 6 (7D) left the shoe together. Does the round continue, or is it void?",
            "The document is silent; our interpretation 0 applies.",
            [],
        ),
    ],
)
def test_the_full_text_of_a_question(name: str, text: str, ground: str, effects: list[str]) -> None:
    """The examples have a clause, a silent document, and a decision between two rounds."""
    asked = next(question for written, question in questions() if written.name == name)
    assert (asked.text, asked.ground) == (text, ground)
    assert [each.effect for each in asked.consequences][: len(effects)] == effects


# --- the tables of phrases


def test_the_tables_of_phrases_are_complete() -> None:
    """Each irregularity, stage, question, outcome and role has one phrase, and each phrase is used."""
    assert set(DESCRIPTIONS) == set(Kind)
    assert set(STAGES) == set(Stage)
    assert set(QUESTIONS) == set(SILENT) == set(ASKS)
    assert set(WINS) == set(Outcome)
    assert set(DECIDED_BY) == {None, PLAYER, *Role}
    assert set(THEN) == {each.value for each in HOLDING}
    assert set(SILENT.values()) <= set(INTERPRETATIONS)
    assert set(TO_OTHERS) == {Ask.OPTION, Ask.INTENDED}


DRAWN: Final = tuple(
    CardEntry(face, Where.PLACED, at, report=ReportedPlace.SLOT, place=at)
    for at, face in enumerate((Card.S8, Card.H3, Card.DJ), 1)
)


def record_with(
    kind: Kind, status: Status = Status.OPEN, cards: tuple[int, ...] = (), face: Card | None = None
) -> Record:
    what = Irregularity(kind, count=max(1, len(cards)))
    return Record(3, 7, cards=DRAWN, matters=(Matter(what, status, "evidence", id=1, cards=cards, face=face),))


def question_of(ask: Ask | RecordAsk, role: Decider | None = Role.DEALER, **more: object) -> RoundQuestion:
    return RoundQuestion(ask, role, matter=1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("status", Status)
def test_each_irregularity_has_a_phrase(kind: Kind, status: Status) -> None:
    """The phrase exists with and without a known card."""
    for cards in ((), (2,), (2, 3)):
        text = text_of(record_with(kind, status, cards), question_of(Ask.RULING), None)
        assert ROUND.match(text)
        assert not NOT_PLAIN.search(text)


def test_the_text_of_rare_questions() -> None:
    """An unread card, an impossible slot, a named player, and a shoe without a round."""
    together = text_of(record_with(Kind.DRAWN_TOGETHER, cards=(3,)), question_of(RecordAsk.CONFIRM), None)
    assert together == (
        "Round 7: shoed suspects that card 3 (JD) and a card that was not read left the shoe together. Is this correct?"
    )
    late = text_of(record_with(Kind.WRONG_COUNT), question_of(Ask.RULING), None)
    assert "wrong number of cards, noticed before the first card" in late
    own = text_of(record_with(Kind.DEALING_ERROR, cards=(2,)), question_of(Ask.OPTION, PLAYER, bettor="ann"), None)
    assert own.endswith("Does the player continue, or take the bets back?")
    between = Record(0, 0, matters=record_with(Kind.DECK_COUNT, Status.CARRIED_OVER).matters)
    assert text_of(between, question_of(Ask.NEXT_ROUND), None).startswith("Before the first round: the set")
    holding = record_with(Kind.CARD_IN_EXCESS, Status.HOLDING, face=Card.D5)
    held = text_of(holding, question_of(Ask.NEXT_ROUND, choices=("carried", "go-on")), None)
    assert held == "Before round 7: 5D was drawn in excess. Does 5D open this round?"
    far = Record(3, 7, cards=DRAWN, matters=(Matter(Irregularity(Kind.CARD_EXPOSED, 9, 9), Status.OPEN, "", id=1),))
    assert "card 9 was exposed" in text_of(far, question_of(Ask.RULING), None)
    assert in_hand("banker", 4) == "Banker's number 4 card"
    assert joined(("a", "b", "c")) == "a, b and c"


def test_the_text_of_a_reading() -> None:
    """A card in no hand, a result, and a card without a face."""
    due = Slot(Side.BANKER, 2, 4)
    waiting = CardEntry(Card.C4, Where.WAITING, 4, report=ReportedPlace.UNNAMED)
    asked = RoundQuestion(RecordAsk.READING, Role.PIT_SUPERVISOR, choices=("due",), index=4)
    text = text_of(Record(3, 7, cards=(*DRAWN, waiting)), asked, due)
    assert text.startswith("Round 7: the shoe reported 4C in no hand, and Banker's second card is due.")
    early = EarlyResult(RoundResult(Outcome.TIE, ()), 3)
    text = text_of(Record(3, 7, cards=DRAWN, early=early), asked, due)
    assert text.startswith("Round 7: the shoe reported a result (Tie), and Banker's second card is due.")
    unread = CardEntry(None, Where.WAITING, 4, report=ReportedPlace.SLOT, seen=Seen(hand="player", position=3))
    text = text_of(Record(3, 7, cards=(*DRAWN, unread)), asked, None)
    assert text.startswith(
        "Round 7: the shoe reported a card without a face as Player's third card, and no card is due."
    )


def test_the_ground_names_a_clause_or_a_silent_document() -> None:
    """A document is silent at all times or only between two rounds."""
    commission = book("commission")
    assert ground_of(commission, Ask.RULING, "5.17", Kind.OTHER) == "Clause 5.17, Commission Baccarat."
    between = ground_of(commission, Ask.NEXT_ROUND, "", Kind.WRONG_SIDE)
    assert between == "The document describes this irregularity within a round only; our interpretation 7 applies."
    assert "silent; our interpretation 7" in ground_of(book("tournament"), Ask.NEXT_ROUND, "", Kind.OTHER)


@pytest.mark.parametrize("position", POSITIONS)
def test_the_next_card_has_a_phrase(position: int) -> None:
    """The third card of a hand is drawn, and the other cards are next."""
    drawn = draws(Slot(Side.PLAYER, position, 1))
    assert drawn in ("Player's first card is next.", "Player's second card is next.", "Player draws a third card.")
