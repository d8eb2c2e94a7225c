"""Rounds that are over: voids, matters that were noticed in time, foreign cards, withdrawals and late answers."""

import pytest

from shoed.cards import Card
from shoed.commands import (
    Author,
    CloseBets,
    CorrectCard,
    Decide,
    Notice,
    OpenBets,
    PutAway,
    SettleRound,
    VoidRound,
    Withdraw,
)
from shoed.events import (
    CardDrawn,
    Hand,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAnswered,
    RoundSettled,
    RoundVoided,
)
from shoed.observations import Continuity, Resumed
from shoed.rules.irregular import Happened
from shoed.step import Told
from shoed.table.matters import MOVES, Matter, Status, moved
from shoed.table.question import Consequence, effect_on_round
from shoed.table.record import Record
from shoed.words import Event, Role
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
    left_lying,
    left_over,
    result,
    together,
)

NOTHING = Hand((), 0)


def test_a_matter_that_was_noticed_in_time_voids_its_round() -> None:
    """C 1.16, 5.5.3: a supervisor states it in the next round; a dealer may not."""
    table = after(*NATURAL, card("P1", "9D"))
    claim = Notice(kind=Event.WRONG_COUNT, round=1, in_time=True, reconstructable=False)
    assert table.refuses(claim, Role.DEALER) == "dealer may not mend the record: it takes pit-supervisor"
    noticed, ruled, voided = table.tell(claim)
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.round, noticed.late) == (1, False)
    assert isinstance(ruled, IrregularityRuled)
    assert isinstance(voided, RoundVoided)
    assert (voided.round, voided.clause, table.phase) == (1, "5.5.3", "dealing")


def test_a_matter_of_a_round_that_is_not_kept_is_refused() -> None:
    """Two rounds ago, without an open question: its cards are not kept. What cannot be said of its cards is refused."""
    table = after(*NATURAL, *NATURAL, card("P1", "9D"))
    claim = Notice(kind=Event.WRONG_COUNT, round=1, in_time=True)
    assert table.refuses(claim).startswith("the cards of round 1 are not kept")
    beyond = Notice(kind=Event.CARD_EXPOSED, at=9, round=2, in_time=True)
    assert table.refuses(beyond) == "card-exposed is said of card 9, and the round has 4"


def test_a_matter_that_is_claimed_twice_is_one() -> None:
    """The answer names the first; nothing is noticed again."""
    table = after(*NATURAL, card("P1", "9D"))
    claim = Notice(kind=Event.WRONG_COUNT, round=1, in_time=True)
    table.tell(claim)
    told = table.step(came=table_told(claim))
    assert "matter 1 of round 1 already" in table.answers[-1].detail
    assert not [each for each in told if isinstance(each.data, IrregularityNoticed)]


def table_told(command: Notice) -> Told:
    return Told(command, Author("bob", Role.PIT_SUPERVISOR), "8a4b")


@pytest.mark.parametrize("begun", [False, True])
def test_a_foreign_card_that_was_left_over_opens_no_round(begun: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """C 5.5.1: it is put away before the first card, and else the round is void."""
    table = left_over()
    table.tell(OpenBets())
    if begun:
        table.tell(CloseBets())
        table.hear(card("B1", "9C"))
        assert table.lies == "5D / 9C"
    told = table.tell(Notice(kind=Event.FOREIGN_CARD, at=5, round=1))
    assert [(each.kind, each.clause) for each in told if isinstance(each, RoundVoided)] == (
        [("foreign-card", "5.5.1")] if begun else []
    )
    if not begun:
        assert kinds(table.hear(card("P1", "9C")))[-1] is CardDrawn
        assert table.lies == "9C /"


def test_another_late_notice_leaves_the_card_that_was_left_over() -> None:
    """C 5.11: it is recorded only."""
    table = left_over()
    table.tell(OpenBets())
    table.tell(Notice(kind=Event.CARD_EXPOSED, at=5, round=1))
    table.hear(card("B1", "9C"))
    assert table.lies == "5D / 9C"


def test_a_late_void_of_an_earlier_round_leaves_the_last_one() -> None:
    """Round 1 is void by a late answer, and round 2 stays the last round."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.FOREIGN_CARD, at=2), Role.DEALER)
    table.hear_each([*dealt("9D KS", "3H 4H"), card("P1", "7D")])
    voided = [each.round for each in table.answer("yes") if isinstance(each, RoundVoided)]
    last = table.shown.last_round
    assert last is not None
    assert (voided, last.round, last.void) == ([1], 2, False)


def test_a_late_void_of_the_last_round_is_shown() -> None:
    """Round 2 has begun meanwhile; a result of the shoe for round 1 is no answer to it any more."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.FOREIGN_CARD, at=2), Role.DEALER)
    table.hear(card("P1", "9D"))
    table.answer("yes")
    last = table.shown.last_round
    assert last is not None
    assert (table.phase, last.round, last.void) == ("dealing", 1, True)


def test_a_late_answer_about_a_report_begins_no_round() -> None:
    """The card waited after round 1; round 2 is open, and stays as it is."""
    table = after(*NATURAL, JUMPED, *cards("B1 5D, P1 2C"))
    assert (table.question.question, table.question.round) == ("reading", 1)
    table.answer("next-round")
    assert (table.phase, table.lies, table.shown.round) == ("dealing", "2C /", 2)


@pytest.mark.parametrize("index", [0, 9])
def test_a_correction_of_a_card_that_a_void_round_has_not_is_on_record_only(index: int) -> None:
    """As of each card of a void round that does not wait."""
    table = after(*NATURAL, card("B3", "5D"))
    table.tell(VoidRound())
    assert table.asks("next-round", "carried", "go-on")
    (noticed,) = table.tell(CorrectCard(index=index, card=Card.C6))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.kind, noticed.late) == ("correction", False)


def test_a_report_that_is_put_away_takes_its_question_with_it() -> None:
    """The early result behind it is another question, also if neither is about a card of the round."""
    table = after()
    table.tell(OpenBets())
    table.hear_each([card("P3", "2C"), result("player")])
    assert (table.question.id, table.asks("reading", "due", "excess", "missed", "same-card")) == ("1", True)
    table.tell(PutAway(index=1), Role.SHIFT_MANAGER)
    assert (table.question.id, table.asks("reading", "missed", "not-so")) == ("2", True)


def test_a_card_that_waits_after_a_void_is_corrected() -> None:
    """The card that may open the next round has the corrected face."""
    table = after(*NATURAL, card("B3", "5D"))
    table.tell(VoidRound())
    assert table.asks("next-round", "carried", "go-on")
    table.tell(CorrectCard(index=5, card=Card.D6))
    assert table.question.revision == 2
    table.answer("carried")
    table.hear(card("B1", "9C"))
    assert table.lies == "6D / 9C"


def test_a_notice_is_withdrawn_after_its_round() -> None:
    """The question about it lapses, and the ruling says that nothing follows."""
    table = after(*NATURAL)
    table.tell(Notice(kind=Event.FOREIGN_CARD, at=2), Role.DEALER)
    table.hear(card("P1", "9D"))
    assert (table.question.question, table.question.round) == ("confirm", 1)
    table.tell(Withdraw(), Role.DEALER)
    assert not table.shown.questions


def test_the_last_notice_about_a_waiting_card_is_withdrawn() -> None:
    """It has no number and no question yet."""
    table = after(*cards("P1 8S, B1 3H, B2 4C"))
    table.tell(Notice(kind=Event.CARD_EXPOSED, at=3), Role.DEALER)
    ruled = table.tell(Withdraw(), Role.DEALER)
    assert [each.then for each in ruled if isinstance(each, IrregularityRuled)] == ["stands"]


def test_a_card_that_waits_is_no_notice_that_could_be_withdrawn() -> None:
    """The watch found that it came together with another one."""
    table = after(*cards("P1 8S, B1 3H"))
    table.step(card("B2", "4C"), found=[together("3H 4C")])
    assert table.refuses(Withdraw()) == "no open question is about a notice: give the number of its matter"


def test_a_card_that_is_not_foreign_after_all_opens_the_next_round() -> None:
    """C 5.7: the dealer took it for a foreign one, and a supervisor denies it."""
    table = after(*NATURAL, card("B3", "5D"))
    table.tell(Notice(kind=Event.FOREIGN_CARD, at=5), Role.DEALER)
    table.answer("yes")
    assert (table.question.question, table.question.kind) == ("confirm", "foreign-card")
    table.answer("no")
    assert left_lying(table) == (Card.D5,)


def test_a_matter_of_an_abandoned_round_is_noticed_in_time_by_its_cards() -> None:
    """C 1.16: they are kept until another round is over."""
    table = after(*NATURAL[:2], UNPROVEN, NATURAL[2])
    table.answer("none-of-these")
    table.hear(card("P1", "9H"))
    (noticed, _) = table.tell(Notice(kind=Event.CARD_EXPOSED, at=2, round=1, in_time=True))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.round, noticed.at, table.question.round) == (1, 2, 1)


def test_an_option_of_an_abandoned_round_stays_open() -> None:
    """C 5.12: the bets of the player go back by the answer, though the round has no result."""
    table = after(*NATURAL, *cards("P1 2S, B1 3H"))
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=False), Role.DEALER)
    table.hear(card("P1", "9D"))
    assert (table.question.question, table.question.round, table.question.optional) == ("option", 2, True)
    told = table.answer("return")
    assert kinds(told) == [QuestionAnswered, IrregularityRuled]  # the result of round 1 settles nothing in round 2
    assert [each.number for each in told if isinstance(each, IrregularityRuled)] == [1]


def test_a_neglected_insurance_goes_back_after_the_round() -> None:
    """I 5.13: the answer of a late question settles the round again, and names the settlement before."""
    table = after(*dealt("2S 3D 6C", "2H 2D 3C"), game="super-six-plus")
    table.tell(SettleRound())
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED), Role.PIT_MANAGER)
    table.hear(card("P1", "9D"))
    assert (table.question.question, table.question.round) == ("intended", 1)
    (settled,) = (each for each in table.answer("yes") if isinstance(each, RoundSettled))
    assert settled.supersedes is not None
    assert [each.bettor for each in settled.returned] == ["others"]


def test_an_answer_to_a_revision_that_is_not_there_is_refused() -> None:
    """And an answer to an earlier one, if its consequence is another one now; any card of a rank is one choice."""
    table = after(*cards("P1 8S, B1 3H, P2 ?"))
    asked = table.question
    ahead = Decide(question=asked.id, choice="8S", revision=asked.revision + 1)
    assert "has no revision" in table.refuses(ahead)
    table.tell(CorrectCard(index=1, card=Card.S2))
    assert table.question.revision > asked.revision
    late = Decide(question=asked.id, choice="8S", revision=asked.revision)
    assert "has changed since revision" in table.refuses(late)


def test_an_answer_to_an_earlier_revision_counts_if_its_consequence_is_the_same() -> None:
    """A further card waits: that changes nothing for a foreign card, by which the round is void."""
    table = after(*cards("P1 8S, B1 3H, P2 ?"))
    asked = table.question
    table.hear(card("B2", "4C"))
    assert table.question.revision > asked.revision
    told = table.tell(Decide(question=asked.id, choice="foreign-card", revision=asked.revision))
    assert RoundVoided in kinds(told)


@pytest.mark.parametrize(
    ("command", "role", "why"),
    [
        (PutAway(index=3), Role.PIT_MANAGER, "shift-manager decides that a card is put away (5.17)"),
        (
            PutAway(index=2),
            Role.SHIFT_MANAGER,
            "card 2 does not wait: only a card whose place is in question is put away",
        ),
    ],
)
def test_a_card_is_put_away_by_the_shift_manager_only(command: PutAway, role: Role, why: str) -> None:
    """C 5.17, and only where its place is in question."""
    table = after(*cards("P1 8S, B1 3H, B2 4C"))
    assert table.refuses(command, role) == why
    told = table.tell(PutAway(index=3), Role.SHIFT_MANAGER)
    assert IrregularityNoticed in kinds(told)
    assert table.phase == "dealing"


def test_no_card_is_put_away_where_the_document_is_silent() -> None:
    """E has no such provision."""
    table = after(*cards("P1 8S, B1 3H, B2 4C"), game="easy-six")
    assert "gives nobody this decision" in table.refuses(PutAway(index=3), Role.SHIFT_MANAGER)


def test_a_status_moves_by_its_table_only() -> None:
    """What is withdrawn is not ruled; each status has its row."""
    assert set(MOVES) == set(Status)
    withdrawn = Matter(Happened(Event.OTHER), Status.WITHDRAWN, "", id=1)
    with pytest.raises(KeyError):
        moved(withdrawn, Status.RULED)


def test_a_round_that_nothing_is_due_to_has_no_effect_of_its_own() -> None:
    """Before the first round of a shoe."""
    nothing = Consequence((), None, NOTHING, NOTHING, None, None, None, None, (), (), new_shoe=False, then_asks=None)
    assert "".join(effect_on_round(Record(), nothing)) == ""


@pytest.mark.parametrize(
    ("proven", "expected", "continuity"),
    [(True, "", Continuity.PROVEN), (False, "", Continuity.UNKNOWN), (False, "3", Continuity.LOST)],
)
def test_records_of_the_engine_before_say_whether_an_absence_was_proven(
    *, proven: bool, expected: str, continuity: Continuity
) -> None:
    """One field became a value of three."""
    old = Resumed(at=START, frame=FRAME, expected=expected, was_proven=proven)
    assert old.continuity is continuity
