"""The record mended: cards that were misread, rounds that do not count, and all of it late."""

import pytest

from shoed.cards import Card
from shoed.commands import AnyCommand, CorrectCard, VoidRound
from shoed.device_events import EventData
from shoed.events import (
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
from shoed.observations import AnyObservation, Outcome, Pair
from tests.observed import CUT, NATURAL, SIX_CARDS, STARTED, Sitting, after, card, cards, dealt, kinds, result


def corrected(told: list[EventData]) -> RoundCorrected:
    (only,) = (each for each in told if isinstance(each, RoundCorrected))
    return only


def id_of(table: Sitting, kind: str) -> str:
    """Of the last event of this type."""
    return f"word-bac-901-{next(event.sequence for event in reversed(table.told) if event.type == kind)}"


# --- a card was misread


def test_another_card_may_make_another_winner() -> None:
    """The first account stays on record; the new one names it by its id."""
    table = after(*NATURAL)
    first = id_of(table, "round.completed")
    told = table.tell(CorrectCard(index=4, card=Card.H6))
    assert kinds(told) == [IrregularityNoticed, RoundCorrected]
    again = corrected(told)
    assert (again.outcome, again.banker.cards, again.banker.points) == (Outcome.BANKER, (Card.H3, Card.H6), 9)
    assert (again.due, again.supersedes) == (None, first)
    assert (table.phase, table.lies) == ("corrected", "8S KS / 3H 6H")
    last = table.shown.last_round
    assert last is not None
    assert (last.result.outcome, last.pays["banker"].pays) == (Outcome.BANKER, "0.95:1")


def test_what_was_mended_says_what_was_told_and_by_whom_it_was_mended() -> None:
    """For whoever reads the record."""
    noticed = after(*NATURAL).tell(CorrectCard(index=4, card=Card.H6))[0]
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.kind, noticed.at, noticed.author, noticed.role) == ("misread", 4, "ann", "pit-supervisor")
    assert "4H" in noticed.evidence
    assert "6H" in noticed.evidence


def test_each_correction_supersedes_the_one_before() -> None:
    """Not the first account again."""
    table = after(*NATURAL)
    table.tell(CorrectCard(index=4, card=Card.H6))
    second = id_of(table, "round.corrected")
    again = corrected(table.tell(CorrectCard(index=4, card=Card.H5)))
    assert (again.outcome, again.supersedes) == (Outcome.TIE, second)


@pytest.mark.parametrize(
    ("theirs", "before", "then"),
    [("player", RoundConfirmed, RoundDisputed), ("banker", RoundDisputed, RoundConfirmed)],
)
def test_the_result_of_the_shoe_is_held_against_the_new_account(theirs: str, before: type, then: type) -> None:
    """It is compared anew, and nobody sends it again."""
    table = after(*NATURAL)
    assert kinds(table.hear(result(theirs))) == [before]
    assert kinds(table.tell(CorrectCard(index=4, card=Card.H6))) == [IrregularityNoticed, RoundCorrected, then]


def test_a_result_after_a_correction_is_held_against_it() -> None:
    """It had not come yet."""
    table = after(*NATURAL)
    table.tell(CorrectCard(index=4, card=Card.H6))
    assert kinds(table.hear(result("banker"))) == [RoundConfirmed]


def test_a_third_card_may_be_due_after_all() -> None:
    """The round is open again: its result is withdrawn, and the next card completes it."""
    table = after(*NATURAL)
    again = corrected(table.tell(CorrectCard(index=1, card=Card.S2)))
    assert (again.outcome, again.due) == (None, Slot(Pair.PLAYER, 3, 5))
    assert (table.phase, table.shown.last_round) == ("dealing", None)
    assert kinds(table.hear(card("P3", "4C"))) == [CardDrawn, RoundCompleted]
    assert table.lies == "2S KS 4C / 3H 4H"
    assert kinds(table.hear(result("banker"))) == [RoundConfirmed]


def test_a_third_card_may_be_one_too_many() -> None:
    """C 5.7: the House says whether it is left for the next round; then the account is corrected."""
    table = after(*SIX_CARDS)
    told = table.tell(CorrectCard(index=1, card=Card.S8))
    assert kinds(told) == [IrregularityNoticed, RoundSuspended, IrregularityNoticed, QuestionAsked]
    assert (table.question.question, table.question.kind) == ("reconstructable", "card-in-excess")
    told = table.answer("yes")
    (resumed,) = (each for each in told if isinstance(each, RoundResumed))
    assert resumed.carried == (Card.S6, Card.H4)
    assert corrected(told).player.cards == (Card.S8, Card.SK)
    assert (table.phase, table.lies) == ("corrected", "8S KS / 3H KH")


def test_a_third_card_too_many_that_cannot_be_put_back_voids_the_round() -> None:
    """C 5.5.3: a wrong number of cards; the void names the account that it takes away."""
    table = after(*SIX_CARDS)
    first = id_of(table, "round.completed")
    table.tell(CorrectCard(index=1, card=Card.S8))
    (void,) = (each for each in table.answer("no") if isinstance(each, RoundVoided))
    assert (void.clause, void.supersedes) == ("5.5.3", first)


def test_a_pair_may_be_none() -> None:
    """The same winner, and yet another account."""
    table = after(*dealt("8S KS", "KH KD"))
    again = corrected(table.tell(CorrectCard(index=4, card=Card.DQ)))
    assert (again.outcome, again.pairs) == (Outcome.PLAYER, ())


def test_a_card_of_another_suit_is_another_account_of_the_same_result() -> None:
    """The hands name it."""
    again = corrected(after(*NATURAL).tell(CorrectCard(index=1, card=Card.C8)))
    assert (again.outcome, again.player.cards) == (Outcome.PLAYER, (Card.C8, Card.SK))


def test_a_card_of_a_round_under_way_is_mended_at_once() -> None:
    """Whoever hears the events learns how the cards lie, and what is due by them now."""
    table = after(*NATURAL[:3])
    last = id_of(table, "card.drawn")
    again = corrected(table.tell(CorrectCard(index=1, card=Card.S2)))
    assert (again.outcome, again.player.cards, again.due) == (None, (Card.S2, Card.SK), Slot(Pair.BANKER, 2, 4))
    assert again.supersedes == last
    table.hear(NATURAL[3])
    assert (table.phase, table.lies) == ("dealing", "2S KS / 3H 4H")


def test_a_card_of_a_round_under_way_may_have_been_the_last() -> None:
    """With the right face Player has a natural, and the round is complete."""
    table = after(*dealt("2S KS", "3H 4H"))
    assert kinds(table.tell(CorrectCard(index=1, card=Card.S8))) == [IrregularityNoticed, RoundCompleted]


@pytest.mark.parametrize(
    ("index", "face", "why"),
    [(5, Card.S2, "card 5 is not a card of the round, which has 4"), (1, Card.S8, "card 1 is 8S already")],
)
def test_what_needs_no_mending_is_refused(index: int, face: Card, why: str) -> None:
    """No such card, or no other face."""
    assert after(*NATURAL).refuses(CorrectCard(index=index, card=face)) == why


# --- a round does not count


@pytest.mark.parametrize("before", [NATURAL[:2], cards("P1 2S, B1 ?"), NATURAL, [*NATURAL, card("B3", "5D")]])
def test_a_round_is_voided_by_a_person(before: list[AnyObservation]) -> None:
    """Under way, waiting, complete: every stake goes back, and no document is cited for it."""
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
    if len(before) > 4:  # what came behind the round may still open the next one
        assert table.asks("next-round", "carried", "go-on")
    else:
        assert not table.state.asked


def test_a_round_that_is_void_has_no_result_any_more() -> None:
    """The last round says so; what the shoe says of it is compared with nothing, and it is not unconfirmed."""
    table = after(*NATURAL)
    table.tell(VoidRound())
    last = table.shown.last_round
    assert last is not None
    assert last.void
    assert table.hear(result("player")) == []
    assert kinds(table.hear(card("P1", "2C"))) == [RoundStarted, CardDrawn]


def test_a_round_is_voided_once() -> None:
    """By its number as well."""
    table = after(*NATURAL)
    table.tell(VoidRound())
    assert table.refuses(VoidRound()) == "round 1 is void already"
    assert table.refuses(VoidRound(round=1)) == "round 1 is void already"


def test_what_is_mended_in_a_void_round_is_recorded_only() -> None:
    """Nothing hangs on it any more."""
    table = after(*NATURAL)
    table.tell(VoidRound())
    (noticed,) = table.tell(CorrectCard(index=1, card=Card.S2))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.late, noticed.round) == (False, 1)
    assert table.lies == "8S KS / 3H 4H"


# --- too late


@pytest.mark.parametrize("then", [[card("P1", "2C")], [*NATURAL]])
def test_once_the_next_round_has_begun_a_correction_is_recorded_only(then: list[AnyObservation]) -> None:
    """C 5.11: the round before stands, and so does this one."""
    table = after(*NATURAL, *then)
    before = table.shown
    (noticed,) = table.tell(CorrectCard(index=1, card=Card.S2, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.kind, noticed.late, noticed.author) == ("correction", True, "ann")
    assert "of round 1" in noticed.evidence
    assert (table.shown.hands, table.shown.phase, table.shown.last_round) == (
        before.hands,
        before.phase,
        before.last_round,
    )


@pytest.mark.parametrize("command", [CorrectCard(index=1, card=Card.S2, round=2), VoidRound(round=2)])
def test_a_round_that_was_not_played_is_not_mended(command: AnyCommand) -> None:
    """Nor is any before the first, or of the shoe before once this one has a round."""
    assert after(*NATURAL).refuses(command) == "there is no round 2 in this shoe"
    table = after(*NATURAL, *NATURAL, *NATURAL, CUT, STARTED, card("P1", "2C"))
    assert table.refuses(command) == "there is no round 2 in this shoe"


@pytest.mark.parametrize("command", [CorrectCard(index=1, card=Card.S2), VoidRound()])
def test_without_a_round_there_is_none_to_mend(command: AnyCommand) -> None:
    """A shoe that has not begun."""
    assert Sitting().refuses(command) == "no round has been played"


# --- and what the shoe says of it


def test_a_dispute_is_told_again_only_when_it_is_another() -> None:
    """The account was mended and the result is disputed as before: by the new account, so it is told."""
    table = after(*NATURAL)
    assert kinds(table.hear(result("tie"))) == [RoundDisputed]
    told = table.tell(CorrectCard(index=4, card=Card.H6))
    assert kinds(told) == [IrregularityNoticed, RoundCorrected, RoundDisputed]
