"""Rounds that are over: voids, matters noticed in time, foreign cards, withdrawals and late answers."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import (
    Author,
    CloseBets,
    CorrectCard,
    Decide,
    OpenBets,
    PutAway,
    ReportIrregularity,
    SettleRound,
    VoidRound,
    Withdraw,
)
from shoed.model.events import (
    CardDrawn,
    Hand,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAnswered,
    RoundSettled,
    RoundVoided,
)
from shoed.model.irregularities import IrregularityKind, Role
from shoed.model.observations import Continuity, Resumed
from shoed.model.step import Commanded
from shoed.rules.irregular import Irregularity
from shoed.table.matters import MOVES, Matter, Status, moved
from shoed.table.public_question import Consequence, effect_on_round
from shoed.table.record import Record
from tests.observed import (
    FRAME,
    JUMPED,
    NATURAL,
    START,
    UNPROVEN,
    after,
    card,
    cards,
    dealt,
    kinds,
    left_over,
    opening_cards,
    result,
    together,
)

NOTHING = Hand((), 0)


def test_a_matter_noticed_in_time_voids_its_round() -> None:
    """C 1.16, 5.5.3: a pit supervisor states it in the next round; a dealer may not."""
    table = after(*NATURAL, card("P1", "9D"))
    claim = ReportIrregularity(kind=IrregularityKind.WRONG_COUNT, round=1, in_time=True, reconstructable=False)
    assert table.refuses(claim, Role.DEALER) == "dealer may not correct the record; the required role is pit-supervisor"
    noticed, ruled, voided = table.tell(claim)
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.round, noticed.late) == (1, False)
    assert isinstance(ruled, IrregularityRuled)
    assert isinstance(voided, RoundVoided)
    assert (voided.round, voided.clause, table.phase) == (1, "5.5.3", "dealing")


def test_a_matter_of_a_round_that_is_not_kept_is_refused() -> None:
    """Cards of the last but one round without an open question are not kept; an impossible card is refused."""
    table = after(*NATURAL, *NATURAL, card("P1", "9D"))
    claim = ReportIrregularity(kind=IrregularityKind.WRONG_COUNT, round=1, in_time=True)
    assert table.refuses(claim).startswith("the cards of round 1 are not kept")
    beyond = ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=9, round=2, in_time=True)
    assert table.refuses(beyond) == "card-exposed names card 9, and the number of cards in the round is 4"


def test_a_matter_that_is_reported_twice_is_one_matter() -> None:
    """The answer names the first matter, and no second event is published."""
    table = after(*NATURAL, card("P1", "9D"))
    claim = ReportIrregularity(kind=IrregularityKind.WRONG_COUNT, round=1, in_time=True)
    table.tell(claim)
    published = table.step(incoming=commanded_by_bob(claim))
    assert "about matter 1 of round 1 (" in table.answers[-1].detail
    assert not [each for each in published if isinstance(each.data, IrregularityNoticed)]


def commanded_by_bob(command: ReportIrregularity) -> Commanded:
    return Commanded(command, Author("bob", Role.PIT_SUPERVISOR), "8a4b")


@pytest.mark.parametrize("begun", [False, True])
def test_a_carried_foreign_card_opens_no_round(begun: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """C 5.5.1: before the first card it is put away; after the first card the round is void."""
    table = left_over()
    table.tell(OpenBets())
    if begun:
        table.tell(CloseBets())
        table.hear(card("B1", "9C"))
        assert table.hands == "5D / 9C"
    published = table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=5, round=1))
    assert [(each.kind, each.clause) for each in published if isinstance(each, RoundVoided)] == (
        [("foreign-card", "5.5.1")] if begun else []
    )
    if not begun:
        assert kinds(table.hear(card("P1", "9C")))[-1] is CardDrawn
        assert table.hands == "9C /"


def test_a_late_report_of_another_kind_keeps_the_carried_card() -> None:
    """C 5.11: the report is recorded only."""
    table = left_over()
    table.tell(OpenBets())
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=5, round=1))
    table.hear(card("B1", "9C"))
    assert table.hands == "5D / 9C"


def test_a_late_void_of_an_earlier_round_leaves_the_last_round() -> None:
    """A late answer voids round 1, and round 2 stays the last round."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=2), Role.DEALER)
    table.hear_each([*dealt("9D KS", "3H 4H"), card("P1", "7D")])
    voided = [each.round for each in table.answer("yes") if isinstance(each, RoundVoided)]
    last = table.shown.last_round
    assert last is not None
    assert (voided, last.round, last.void) == ([1], 2, False)


def test_a_late_void_of_the_last_round_is_shown() -> None:
    """Round 2 has begun, and the state shows round 1 as void."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=2), Role.DEALER)
    table.hear(card("P1", "9D"))
    table.answer("yes")
    last = table.shown.last_round
    assert last is not None
    assert (table.phase, last.round, last.void) == ("dealing", 1, True)


def test_a_late_answer_about_a_report_begins_no_round() -> None:
    """The card waited after round 1; round 2 is open and unchanged."""
    table = after(*NATURAL, JUMPED, *cards("B1 5D, P1 2C"))
    assert (table.question.question, table.question.round) == ("reading", 1)
    table.answer("next-round")
    assert (table.phase, table.hands, table.shown.round) == ("dealing", "2C /", 2)


@pytest.mark.parametrize("index", [0, 9])
def test_a_correction_of_a_card_outside_a_void_round_is_recorded_only(index: int) -> None:
    """The index is not an index of the void round or of a waiting card."""
    table = after(*NATURAL, card("B3", "5D"))
    table.tell(VoidRound())
    assert table.asks("next-round", "carried", "go-on")
    (noticed,) = table.tell(CorrectCard(index=index, card=Card.C6))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.kind, noticed.late) == ("correction", False)


def test_putting_a_card_away_ends_its_question() -> None:
    """The early result after it has another question with another id."""
    table = after()
    table.tell(OpenBets())
    table.hear_each([card("P3", "2C"), result("player")])
    assert (table.question.id, table.asks("reading", "due", "excess", "missed", "same-card")) == ("1", True)
    table.tell(PutAway(index=1), Role.SHIFT_MANAGER)
    assert (table.question.id, table.asks("reading", "missed", "not-so")) == ("2", True)


def test_a_waiting_card_after_a_void_can_be_corrected() -> None:
    """The card that may open the next round has the corrected face."""
    table = after(*NATURAL, card("B3", "5D"))
    table.tell(VoidRound())
    assert table.asks("next-round", "carried", "go-on")
    table.tell(CorrectCard(index=5, card=Card.D6))
    assert table.question.revision == 2
    table.answer("carried")
    table.hear(card("B1", "9C"))
    assert table.hands == "6D / 9C"


def test_a_report_can_be_withdrawn_after_its_round() -> None:
    """The question about the report lapses."""
    table = after(*NATURAL)
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=2), Role.DEALER)
    table.hear(card("P1", "9D"))
    assert (table.question.question, table.question.round) == ("confirm", 1)
    table.tell(Withdraw(), Role.DEALER)
    assert not table.shown.questions


def test_a_report_about_a_waiting_card_can_be_withdrawn() -> None:
    """It has neither a number nor a question yet."""
    table = after(*cards("P1 8S, B1 3H, B2 4C"))
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=3), Role.DEALER)
    ruled = table.tell(Withdraw(), Role.DEALER)
    assert [each.then for each in ruled if isinstance(each, IrregularityRuled)] == ["stands"]


def test_a_finding_about_a_waiting_card_cannot_be_withdrawn() -> None:
    """The watch found the card drawn together with another."""
    table = after(*cards("P1 8S, B1 3H"))
    table.step(card("B2", "4C"), found=[together("3H 4C")])
    assert table.refuses(Withdraw()) == (
        "no open question is about a notice; add number=N with the `number` of irregularity.noticed"
    )


def test_a_denied_foreign_card_opens_the_next_round() -> None:
    """C 5.7: the dealer reported it foreign, and a pit supervisor denies it."""
    table = after(*NATURAL, card("B3", "5D"))
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, at=5), Role.DEALER)
    table.answer("yes")
    assert (table.question.question, table.question.kind) == ("confirm", "foreign-card")
    table.answer("no")
    assert opening_cards(table) == (Card.D5,)


def test_a_matter_of_an_abandoned_round_can_be_reported_in_time() -> None:
    """C 1.16: its cards are kept until another round is over."""
    table = after(*NATURAL[:2], UNPROVEN, NATURAL[2])
    table.answer("none-of-these")
    table.hear(card("P1", "9H"))
    (noticed, _) = table.tell(ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=2, round=1, in_time=True))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.round, noticed.at, table.question.round) == (1, 2, 1)


def test_an_option_of_an_abandoned_round_stays_open() -> None:
    """C 5.12: the answer returns the player's bets, although the round has no result."""
    table = after(*NATURAL, *cards("P1 2S, B1 3H"))
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False), Role.DEALER)
    table.hear(card("P1", "9D"))
    assert (table.question.question, table.question.round, table.question.optional) == ("option", 2, True)
    published = table.answer("return")
    assert kinds(published) == [QuestionAnswered, IrregularityRuled]  # the result of round 1 does not settle round 2
    assert [each.number for each in published if isinstance(each, IrregularityRuled)] == [1]


def test_a_late_answer_about_neglected_insurance_settles_the_round_again() -> None:
    """I 5.13: the new settlement names the settlement that it supersedes."""
    table = after(*dealt("2S 3D 6C", "2H 2D 3C"), game="super-six-plus")
    table.tell(SettleRound())
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED), Role.PIT_MANAGER)
    table.hear(card("P1", "9D"))
    assert (table.question.question, table.question.round) == ("intended", 1)
    (settled,) = (each for each in table.answer("yes") if isinstance(each, RoundSettled))
    assert settled.supersedes is not None
    assert [each.bettor for each in settled.returned] == ["others"]


def test_an_answer_to_an_unknown_or_changed_revision_is_refused() -> None:
    """A revision is changed if the consequence of the choice is different; a rank is one choice."""
    table = after(*cards("P1 8S, B1 3H, P2 ?"))
    asked = table.question
    ahead = Decide(question=asked.id, choice="8S", revision=asked.revision + 1)
    assert "has no revision" in table.refuses(ahead)
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.question.revision > asked.revision
    late = Decide(question=asked.id, choice="8S", revision=asked.revision)
    assert "has changed since revision" in table.refuses(late)


def test_an_answer_to_an_earlier_revision_with_the_same_consequence_is_accepted() -> None:
    """A further waiting card does not change the consequence of a foreign card."""
    table = after(*cards("P1 8S, B1 3H, P2 ?"))
    asked = table.question
    table.hear(card("B2", "4C"))
    assert table.question.revision > asked.revision
    published = table.tell(Decide(question=asked.id, choice="foreign-card", revision=asked.revision))
    assert RoundVoided in kinds(published)


@pytest.mark.parametrize(
    ("command", "role", "why"),
    [
        (
            PutAway(index=3),
            Role.PIT_MANAGER,
            "pit-manager may not put a card away; the required role is shift-manager (5.17)",
        ),
        (
            PutAway(index=2),
            Role.SHIFT_MANAGER,
            "the place of card 2 is not in question; give the index of a card whose place is in question",
        ),
    ],
)
def test_only_a_shift_manager_puts_a_card_away(command: PutAway, role: Role, why: str) -> None:
    """C 5.17: the place of the card is in question."""
    table = after(*cards("P1 8S, B1 3H, B2 4C"))
    assert table.refuses(command, role) == why
    published = table.tell(PutAway(index=3), Role.SHIFT_MANAGER)
    assert IrregularityNoticed in kinds(published)
    assert table.phase == "dealing"


def test_no_card_is_put_away_if_the_document_has_no_provision() -> None:
    """E has no such provision."""
    table = after(*cards("P1 8S, B1 3H, B2 4C"), game="easy-six")
    assert "does not provide for this decision" in table.refuses(PutAway(index=3), Role.SHIFT_MANAGER)


def test_a_status_changes_only_by_its_table() -> None:
    """Each status has a row, and a withdrawn matter cannot be ruled."""
    assert set(MOVES) == set(Status)
    withdrawn = Matter(Irregularity(IrregularityKind.OTHER), Status.WITHDRAWN, "", id=1)
    with pytest.raises(KeyError):
        moved(withdrawn, Status.RULED)


def test_an_answer_before_the_first_round_has_no_effect_on_a_round() -> None:
    """No round of the shoe has begun."""
    nothing = Consequence((), None, NOTHING, NOTHING, None, None, None, None, (), (), new_shoe=False, then_asks=None)
    assert "".join(effect_on_round(Record(), nothing)) == ""


@pytest.mark.parametrize(
    ("proven", "expected", "continuity"),
    [(True, "", Continuity.PROVEN), (False, "", Continuity.UNKNOWN), (False, "3", Continuity.LOST)],
)
def test_an_old_record_of_an_absence_maps_to_a_continuity(
    *, proven: bool, expected: str, continuity: Continuity
) -> None:
    """An old record has one flag and the expected number; the new value is one of three."""
    old = Resumed(at=START, frame=FRAME, expected=expected, was_proven=proven)
    assert old.continuity is continuity
