"""Corrections: misread cards, void rounds, and both after the next round has begun."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import AnyCommand, CorrectCard, VoidRound
from shoed.model.device_events import EventData
from shoed.model.events import (
    CardDrawn,
    IrregularityNoticed,
    QuestionAsked,
    RoundCompleted,
    RoundConfirmed,
    RoundCorrected,
    RoundDisputed,
    RoundResumed,
    RoundStarted,
    RoundSuspended,
    RoundVoided,
    Slot,
)
from shoed.model.observations import AnyObservation, Outcome, Side
from tests.observed import CUT, NATURAL, SIX_CARDS, STARTED, TableRun, after, card, cards, dealt, kinds, result


def corrected(published: list[EventData]) -> RoundCorrected:
    (only,) = (each for each in published if isinstance(each, RoundCorrected))
    return only


def id_of(table: TableRun, kind: str) -> str:
    """The id of the last event of this type."""
    return f"word-bac-901-{next(event.sequence for event in reversed(table.events) if event.type == kind)}"


# --- a misread card


def test_a_corrected_card_may_change_the_winner() -> None:
    """The new result names the id of the event that it supersedes."""
    table = after(*NATURAL)
    first = id_of(table, "round.completed")
    published = table.tell(CorrectCard(index=4, card=Card.H6))
    assert kinds(published) == [IrregularityNoticed, RoundCorrected]
    again = corrected(published)
    assert (again.outcome, again.banker.cards, again.banker.points) == (Outcome.BANKER, (Card.H3, Card.H6), 9)
    assert (again.due, again.supersedes) == (None, first)
    assert (table.phase, table.hands) == ("corrected", "8S KS / 3H 6H")
    last = table.shown.last_round
    assert last is not None
    assert (last.result.outcome, last.pays["banker"].pays) == (Outcome.BANKER, "0.95:1")


def test_a_correction_names_both_faces_and_its_author() -> None:
    """The evidence contains the old face and the new face."""
    noticed = after(*NATURAL).tell(CorrectCard(index=4, card=Card.H6))[0]
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.kind, noticed.at, noticed.author, noticed.role) == ("misread", 4, "ann", "pit-supervisor")
    assert "4H" in noticed.evidence
    assert "6H" in noticed.evidence


def test_a_second_correction_supersedes_the_first_correction() -> None:
    """The second correction does not name the id of the first result."""
    table = after(*NATURAL)
    table.tell(CorrectCard(index=4, card=Card.H6))
    second = id_of(table, "round.corrected")
    again = corrected(table.tell(CorrectCard(index=4, card=Card.H5)))
    assert (again.outcome, again.supersedes) == (Outcome.TIE, second)


@pytest.mark.parametrize(
    ("theirs", "before", "then"),
    [("player", RoundConfirmed, RoundDisputed), ("banker", RoundDisputed, RoundConfirmed)],
)
def test_the_shoes_result_is_compared_with_the_corrected_result(theirs: str, before: type, then: type) -> None:
    """The comparison is repeated without a new report of the shoe."""
    table = after(*NATURAL)
    assert kinds(table.hear(result(theirs))) == [before]
    assert kinds(table.tell(CorrectCard(index=4, card=Card.H6))) == [IrregularityNoticed, RoundCorrected, then]


def test_a_result_after_a_correction_is_compared_with_the_correction() -> None:
    """The shoe reports its result after the correction."""
    table = after(*NATURAL)
    table.tell(CorrectCard(index=4, card=Card.H6))
    assert kinds(table.hear(result("banker"))) == [RoundConfirmed]


def test_a_correction_may_make_a_third_card_due() -> None:
    """The round is open again without a result, and the next card completes it."""
    table = after(*NATURAL)
    again = corrected(table.tell(CorrectCard(index=1, card=Card.S2)))
    assert (again.outcome, again.due) == (None, Slot(Side.PLAYER, 3, 5))
    assert (table.phase, table.shown.last_round) == ("dealing", None)
    assert kinds(table.hear(card("P3", "4C"))) == [CardDrawn, RoundCompleted]
    assert table.hands == "2S KS 4C / 3H 4H"
    assert kinds(table.hear(result("banker"))) == [RoundConfirmed]


def test_a_correction_may_leave_third_cards_over() -> None:
    """C 5.7: a pit supervisor decides whether the cards are carried, and then the round is corrected."""
    table = after(*SIX_CARDS)
    published = table.tell(CorrectCard(index=1, card=Card.S8))
    assert kinds(published) == [IrregularityNoticed, RoundSuspended, IrregularityNoticed, QuestionAsked]
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    published = table.answer("yes")
    (resumed,) = (each for each in published if isinstance(each, RoundResumed))
    assert resumed.carried == (Card.S6, Card.H4)
    assert corrected(published).player.cards == (Card.S8, Card.SK)
    assert (table.phase, table.hands) == ("corrected", "8S KS / 3H KH")


def test_a_third_card_left_over_that_cannot_be_put_back_voids_the_round() -> None:
    """C 5.5.3: a wrong number of cards; the void names the event that it supersedes."""
    table = after(*SIX_CARDS)
    first = id_of(table, "round.completed")
    table.tell(CorrectCard(index=1, card=Card.S8))
    (void,) = (each for each in table.answer("no") if isinstance(each, RoundVoided))
    assert (void.clause, void.supersedes) == ("5.5.3", first)


def test_a_correction_may_remove_a_pair() -> None:
    """The winner stays the same, and a corrected result is published."""
    table = after(*dealt("8S KS", "KH KD"))
    again = corrected(table.tell(CorrectCard(index=4, card=Card.DQ)))
    assert (again.outcome, again.pairs) == (Outcome.PLAYER, ())


def test_a_correction_of_a_suit_publishes_the_same_result_again() -> None:
    """The hands contain the corrected card."""
    again = corrected(after(*NATURAL).tell(CorrectCard(index=1, card=Card.C8)))
    assert (again.outcome, again.player.cards) == (Outcome.PLAYER, (Card.C8, Card.SK))


def test_a_card_of_an_open_round_is_corrected_at_once() -> None:
    """The event contains the corrected hands and the card that is due."""
    table = after(*NATURAL[:3])
    last = id_of(table, "card.drawn")
    again = corrected(table.tell(CorrectCard(index=1, card=Card.S2)))
    assert (again.outcome, again.player.cards, again.due) == (None, (Card.S2, Card.SK), Slot(Side.BANKER, 2, 4))
    assert again.supersedes == last
    table.hear(NATURAL[3])
    assert (table.phase, table.hands) == ("dealing", "2S KS / 3H 4H")


def test_a_correction_may_complete_an_open_round() -> None:
    """With the corrected face Player has a natural."""
    table = after(*dealt("2S KS", "3H 4H"))
    assert kinds(table.tell(CorrectCard(index=1, card=Card.S8))) == [IrregularityNoticed, RoundCompleted]


@pytest.mark.parametrize(
    ("index", "face", "why"),
    [
        (5, Card.S2, "card 5 is not a card of the round; the number of cards in the round is 4"),
        (1, Card.S8, "card 1 is 8S already"),
    ],
)
def test_a_correction_without_an_effect_is_refused(index: int, face: Card, why: str) -> None:
    """The card does not exist, or it has the face already."""
    assert after(*NATURAL).refuses(CorrectCard(index=index, card=face)) == why


# --- a round that is voided


@pytest.mark.parametrize("before", [NATURAL[:2], cards("P1 2S, B1 ?"), NATURAL, [*NATURAL, card("B3", "5D")]])
def test_a_person_voids_a_round_in_any_phase(before: list[AnyObservation]) -> None:
    """An open, a suspended and a complete round return all stakes, and the void cites no clause."""
    table = after(*before)
    (void,) = (each for each in table.tell(VoidRound()) if isinstance(each, RoundVoided))
    assert (void.kind, void.clause, void.returns, void.author, void.role) == (
        "void",
        None,
        "5.15",
        "ann",
        "pit-supervisor",
    )
    assert void.reading is not None
    complete = len(before) >= 4
    assert void.supersedes == (id_of(table, "round.completed") if complete else None)
    assert table.phase == "voided"
    if len(before) > 4:  # the card after the round may open the next round
        assert table.asks("next-round", "carried", "go-on")
    else:
        assert not table.state.asked


def test_a_void_round_has_no_result() -> None:
    """The last round is marked void; the shoe's result is not compared, and the round is not unconfirmed."""
    table = after(*NATURAL)
    table.tell(VoidRound())
    last = table.shown.last_round
    assert last is not None
    assert last.void
    assert table.hear(result("player")) == []
    assert kinds(table.hear(card("P1", "2C"))) == [RoundStarted, CardDrawn]


def test_a_round_is_voided_once() -> None:
    """The number of the round makes no difference."""
    table = after(*NATURAL)
    table.tell(VoidRound())
    assert table.refuses(VoidRound()) == "round 1 is void already"
    assert table.refuses(VoidRound(round=1)) == "round 1 is void already"


def test_a_correction_of_a_void_round_is_recorded_only() -> None:
    """No result depends on the card."""
    table = after(*NATURAL)
    table.tell(VoidRound())
    (noticed,) = table.tell(CorrectCard(index=1, card=Card.S2))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.late, noticed.round) == (False, 1)
    assert table.hands == "8S KS / 3H 4H"


# --- after the next round has begun


@pytest.mark.parametrize("then", [[card("P1", "2C")], [*NATURAL]])
def test_a_correction_after_the_next_round_has_begun_is_recorded_only(then: list[AnyObservation]) -> None:
    """C 5.11: both rounds stand."""
    table = after(*NATURAL, *then)
    before = table.shown
    (noticed,) = table.tell(CorrectCard(index=1, card=Card.S2, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.kind, noticed.late, noticed.author) == ("correction", True, "ann")
    assert "round 1: " in noticed.evidence
    assert (table.shown.hands, table.shown.phase, table.shown.last_round) == (
        before.hands,
        before.phase,
        before.last_round,
    )


def test_the_refusal_of_a_late_void_names_our_interpretation_if_the_document_is_silent() -> None:
    """E has no clause about an error that is noticed after the next round began."""
    table = after(*cards("P1 8S, B1 3H, P2 KS, B2 4H"), card("P1", "2C"), game="easy-six")
    assert "the document is silent; our interpretation 6 applies" in table.refuses(VoidRound(round=1))


@pytest.mark.parametrize("command", [CorrectCard(index=1, card=Card.S2, round=2), VoidRound(round=2)])
def test_a_command_for_a_round_that_was_not_played_is_refused(command: AnyCommand) -> None:
    """The same holds for a round of the previous shoe after the first card of this shoe."""
    assert after(*NATURAL).refuses(command) == "there is no round 2 in this shoe"
    table = after(*NATURAL, *NATURAL, *NATURAL, CUT, STARTED, card("P1", "2C"))
    assert table.refuses(command) == "there is no round 2 in this shoe"


@pytest.mark.parametrize("command", [CorrectCard(index=1, card=Card.S2), VoidRound()])
def test_a_correction_without_a_round_is_refused(command: AnyCommand) -> None:
    """No round of the shoe has begun."""
    assert TableRun().refuses(command) == "no round has been played"


# --- the shoe's result after a correction


def test_a_dispute_is_published_again_after_a_correction() -> None:
    """The shoe's result still differs, and the dispute names the corrected result."""
    table = after(*NATURAL)
    assert kinds(table.hear(result("tie"))) == [RoundDisputed]
    published = table.tell(CorrectCard(index=4, card=Card.H6))
    assert kinds(published) == [IrregularityNoticed, RoundCorrected, RoundDisputed]
