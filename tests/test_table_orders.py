"""What people tell a table: every command, what comes of it, and every reason why it is refused."""

import pytest

from shoed.cards import Card
from shoed.commands import (
    AnyCommand,
    Author,
    CloseBets,
    CorrectCard,
    Decide,
    EmptyShoe,
    GrantSqueeze,
    Notice,
    OpenBets,
    ReportLate,
    SettleRound,
    StartShoe,
    VoidRound,
)
from shoed.events import (
    BetsClosed,
    BetsLate,
    CardDrawn,
    InsuranceWaived,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAsked,
    RoundAbandoned,
    RoundCompleted,
    RoundSettled,
    RoundStarted,
    RoundVoided,
    ShoeEmptied,
    ShoeStarted,
    TookBack,
)
from shoed.findings import SetWrong
from shoed.observations import AnyObservation
from shoed.step import Told
from shoed.words import Event, Role, Stage
from tests.observed import CUT, NATURAL, STARTED, Sitting, after, card, cards, kinds, result

# --- who tells

EVERY: list[AnyCommand] = [
    *(OpenBets(), CloseBets(), Notice(kind=Event.FOREIGN_CARD), ReportLate(act="bet"), GrantSqueeze(), EmptyShoe()),
    *(CorrectCard(index=1, card=Card.S9), VoidRound(), SettleRound(), StartShoe()),
]


@pytest.mark.parametrize("command", EVERY)
def test_a_player_tells_the_table_nothing(command: AnyCommand) -> None:
    """But for their own choice: whoever tells anything else has a role in the house."""
    assert "name a role" in after(*NATURAL[:2]).refuses(command, None)


@pytest.mark.parametrize("command", [CorrectCard(index=1, card=Card.S9), VoidRound()])
def test_who_mends_the_record_is_a_pit_supervisor_or_above(command: AnyCommand) -> None:
    """A dealer does not."""
    table = after(*NATURAL[:2])
    assert table.refuses(command, Role.DEALER) == "dealer may not mend the record: it takes pit-supervisor"
    table.tell(command, Role.SHIFT_MANAGER)


# --- bets


def test_bets_are_opened_and_closed() -> None:
    """The announcement opens the round; its first card is due then, and opens no other."""
    table = Sitting()
    assert kinds(table.tell(OpenBets(), Role.DEALER)) == [RoundStarted]
    assert table.phase == "betting"
    assert table.tell(CloseBets(), Role.DEALER) == [BetsClosed(shoe=1, round=1, closed_by="announcement")]
    assert table.phase == "closed"
    assert kinds(table.hear(card("P1", "8S"))) == [CardDrawn]


def test_the_first_card_closes_the_bets_where_nobody_said_it() -> None:
    """In the Step of the card, before it."""
    table = Sitting()
    table.tell(OpenBets())
    assert kinds(table.hear(card("P1", "8S"))) == [BetsClosed, CardDrawn]


@pytest.mark.parametrize(
    ("before", "phase"),
    [
        ([], "betting: end it"),
        (NATURAL[:2], "dealing: end it"),
        (cards("P1 2S, B2 3S"), "suspended: answer question 1"),
        ([*NATURAL, card("B3", "5D")], "suspended: answer question 1"),
    ],
)
def test_bets_are_not_opened_over_a_round_that_needs_a_card_or_an_answer(
    before: list[AnyObservation], phase: str
) -> None:
    """The refusal says how the round stands, and which question waits."""
    table = after(*before)
    if not before:
        table.tell(OpenBets())
    assert table.refuses(OpenBets()) == f"round 1 is {phase} first, or void the round"


@pytest.mark.parametrize("before", [[], NATURAL[:2], NATURAL])
def test_bets_are_closed_only_where_they_are_open(before: list[AnyObservation]) -> None:
    """The refusal says how the table stands."""
    table = after(*before)
    assert table.refuses(CloseBets()) == f"no bets are open: the table is {table.phase}"


@pytest.mark.parametrize(
    ("game", "acts"),
    [
        ("commission", {"bet": "refused", "increase": "refused", "withdrawal": "refused"}),
        ("super-six-plus", {"bet": "refused", "increase": "refused", "withdrawal": "refused"}),
        ("fortune-six", {"bet": "refused", "increase": "increase-refused", "withdrawal": "stands"}),
        ("easy-six", {"bet": "refused", "increase": "increase-refused", "withdrawal": "stands"}),
        ("tournament", {"bet": "refused", "increase": "increase-refused", "withdrawal": "stands"}),
    ],
)
def test_a_late_bet_is_told_with_what_the_document_says_of_it(game: str, acts: dict[str, str]) -> None:
    """I and C refuse all three; F, E and T to the extent increased, and a withdrawal leaves the bet as it was."""
    table = after(*NATURAL[:2], game=game)
    for act, then in acts.items():
        (late,) = table.tell(ReportLate(act=act), Role.DEALER)
        assert isinstance(late, BetsLate)
        assert (late.act, late.then, late.author, late.role) == (act, then, "ann", "dealer")


def test_what_is_not_late_is_refused() -> None:
    """The bets are open, or there is no round; and what is no such act."""
    table = Sitting()
    assert table.refuses(ReportLate(act="bet")) == "the bets are not closed"
    table.tell(OpenBets())
    assert table.refuses(ReportLate(act="bet")) == "the bets are not closed"
    assert table.refuses(ReportLate(act="bets")) == (
        "bets is nothing that is late; write bet or increase or withdrawal"
    )


# --- a squeeze


def test_a_squeeze_waives_the_insurance_after_players_third_card() -> None:
    """I 3.14, for everybody in the round: nothing is on offer then; before it the offers stand."""
    deal = cards("P1 2S, B1 3S, P2 KS, B2 KD, P3 6D")
    table = after(*deal, game="super-six-plus")
    assert [each.bet for each in table.shown.insurance] == ["player-insurance"]
    (waived,) = table.tell(GrantSqueeze(), Role.DEALER)
    assert isinstance(waived, InsuranceWaived)
    assert waived.clause == "3.14"
    assert table.shown.insurance == ()


def test_a_squeeze_is_granted_once_in_an_open_round_of_a_game_with_insurance() -> None:
    """Anything else is refused with the reason."""
    table = after(*NATURAL[:2], game="super-six-plus")
    table.tell(GrantSqueeze())
    assert table.refuses(GrantSqueeze()) == "it was granted already"
    assert after(*NATURAL, game="super-six-plus").refuses(GrantSqueeze()) == "no round is open"
    assert after(*NATURAL[:2]).refuses(GrantSqueeze()) == "commission has no insurance that a squeeze could waive"


# --- what went wrong


def test_what_a_person_noticed_is_told_with_their_name_and_ruled_by_the_book() -> None:
    """C 5.5.1."""
    told = after(*NATURAL[:2]).tell(Notice(kind=Event.FOREIGN_CARD), Role.PIT_MANAGER)
    noticed, ruled, void = told
    assert isinstance(noticed, IrregularityNoticed)
    assert (noticed.number, noticed.kind, noticed.at, noticed.author, noticed.role) == (
        1,
        "foreign-card",
        2,
        "ann",
        "pit-manager",
    )
    assert isinstance(ruled, IrregularityRuled)
    assert (ruled.number, ruled.then, ruled.clause) == (1, "void", "5.5.1")
    assert isinstance(void, RoundVoided)
    assert (void.author, void.role) == ("ann", "pit-manager")


@pytest.mark.parametrize("game", ["fortune-six", "easy-six", "tournament"])
def test_where_the_document_is_silent_a_person_decides(game: str) -> None:
    """The round waits; the ruling says that nothing is written."""
    table = after(*NATURAL[:2], game=game)
    table.tell(Notice(kind=Event.DEALING_ERROR))
    assert (table.phase, table.question.question, table.question.clause) == ("suspended", "ruling", None)
    assert table.question.role == "pit-supervisor"
    told = table.answer("void")
    ruled = next(each for each in told if isinstance(each, IrregularityRuled))
    assert (ruled.then, ruled.clause, ruled.silent) == ("void", None, True)
    assert table.phase == "voided"


@pytest.mark.parametrize(
    ("notice", "why"),
    [
        (Notice(kind=Event.SET_REPLACED), "set-replaced is nothing that happens"),
        (Notice(kind=Event.NOTICED_LATE), "noticed-late is nothing that happens"),
        (Notice(kind=Event.CARD_EXPOSED, at=3), "card-exposed is said of card 3, and the round has 2"),
        (Notice(kind=Event.DRAWN_TOGETHER, at=2), "drawn-together is said of card 3, and the round has 2"),
        (Notice(kind=Event.DRAWN_TOGETHER, at=1, count=1), "one card is not drawn together; count is 2 or more"),
        (Notice(kind=Event.FOREIGN_CARD, round=2), "round 2 has not been played; the last one is 1"),
        (
            Notice(kind=Event.WRONG_SIDE, at=1, other=3),
            "only a card of the round can be the other one of a wrong-side",
        ),
        (
            Notice(kind=Event.FACE_UP, at=1, other=2),
            "only a card of the round can be the other one of a wrong-side",
        ),
        (
            Notice(kind=Event.ORDER_ALTERED, at=1, order=(Card.S8, Card.S9)),
            "order is not the cards that came from card 1 on, 8S 3H",
        ),
    ],
)
def test_what_cannot_be_is_refused(notice: Notice, why: str) -> None:
    """With what is wrong about it, and nothing is on record."""
    assert after(*NATURAL[:2]).refuses(notice) == why


def test_before_its_first_card_a_round_has_none_that_something_is_said_of() -> None:
    """What is said of no card is taken."""
    table = Sitting()
    table.tell(OpenBets())
    assert table.refuses(Notice(kind=Event.WRONG_SIDE)) == "wrong-side is said of a card, and none was drawn yet"
    table.tell(Notice(kind=Event.NOT_SHUFFLED))
    assert table.phase == "voided"


def test_of_cards_that_wait_no_order_is_said_until_they_have_a_place() -> None:
    """The open question decides whether they are of the round."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert table.refuses(Notice(kind=Event.ORDER_ALTERED, order=(Card.S4,))) == (
        "card 3 has no place in the round yet: answer the open question first"
    )
    table.tell(Notice(kind=Event.FOREIGN_CARD))
    assert table.phase == "voided"


def test_an_order_that_was_meant_is_put_back() -> None:
    """The cards lie as they were meant to come, and whoever hears the events knows how (C 5.12)."""
    table = after(*NATURAL[:2])
    table.tell(Notice(kind=Event.ORDER_ALTERED, at=1, order=(Card.H3, Card.S8), reconstructable=True))
    assert (table.question.question, table.lies) == ("option", "3H / 8S")
    table.answer("continue")
    assert (table.phase, table.lies) == ("dealing", "3H / 8S")


def test_a_reconstruction_is_shown_beside_the_cards_as_they_were_dealt() -> None:
    """A player who may take bets back sees both hands; where they do not differ there is one account."""
    table = after(*NATURAL[:2])
    table.tell(Notice(kind=Event.ORDER_ALTERED, at=1, order=(Card.H3, Card.S8), reconstructable=True))
    shown = [each.as_dealt for each in table.question.consequences]
    assert [each and (each.player.cards, each.banker.cards) for each in shown] == [((Card.S8,), (Card.H3,))] * 2
    table = after(*NATURAL[:2])
    table.tell(Notice(kind=Event.ORDER_ALTERED, at=1, order=(Card.S8, Card.H3), reconstructable=True))
    assert [each.as_dealt for each in table.question.consequences] == [None, None]


def test_the_last_card_of_the_table_may_be_part_of_an_altered_order() -> None:
    """It has a place in the round."""
    table = after(*NATURAL[:2])
    table.tell(Notice(kind=Event.ORDER_ALTERED, at=2, order=(Card.H3,), reconstructable=True))
    assert table.question.kind == "order-altered"


def test_a_card_of_an_altered_order_may_be_in_excess() -> None:
    """I 5.12: the order of two cards is known. A notice then names the second one; each question has its hands."""
    table = after(*cards("P1 6C, B1 4D"), game="super-six-plus")
    table.tell(Notice(kind=Event.ORDER_ALTERED, at=1, order=(Card.D4, Card.C6)))
    table.answer("yes")
    table.tell(Notice(kind=Event.CARD_IN_EXCESS))
    table.answer("continue")
    assert table.asks("reconstructable", "yes", "no")
    table.answer("yes")
    table.answer("continue")
    table.hear(card("P2", "2H"))
    assert table.lies == "4D 2H / 6C"


def test_what_is_noticed_of_an_earlier_round_touches_no_later_one() -> None:
    """C 5.11: it is recorded, and ruled to stand."""
    table = after(*NATURAL, *NATURAL[:2])
    noticed, ruled = table.tell(Notice(kind=Event.WRONG_COUNT, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert isinstance(ruled, IrregularityRuled)
    assert (noticed.late, noticed.number, ruled.number) == (True, None, None)
    assert (noticed.round, ruled.round, ruled.then, ruled.clause) == (1, 1, "stands", "5.11")
    assert (table.phase, table.lies) == ("dealing", "8S / 3H")


def test_what_is_noticed_between_two_rounds_holds_the_next() -> None:
    """Nothing is open that could be void."""
    table = after(CUT, STARTED)
    told = table.tell(Notice(kind=Event.DECK_COUNT))
    assert kinds(told) == [IrregularityNoticed, IrregularityRuled, QuestionAsked]
    assert isinstance(told[0], IrregularityNoticed)
    assert told[0].author == "ann"


def test_before_anything_was_dealt_no_shoe_has_a_number() -> None:
    """What is noticed then is of none."""
    told = Sitting().tell(Notice(kind=Event.DECK_COUNT))
    assert {(each.shoe, each.round) for each in told if isinstance(each, IrregularityNoticed | QuestionAsked)} == {
        (None, None)
    }


@pytest.mark.parametrize(("at", "other"), [(1, 1), (1, 3), (2, 4)])
def test_cards_of_one_side_cannot_have_changed_places(at: int, other: int) -> None:
    """C 5.8.1 speaks of the other side."""
    notice = Notice(kind=Event.WRONG_SIDE, at=at, other=other, reconstructable=False)
    assert after(*NATURAL).refuses(notice) == f"cards {at} and {other} are of one side: they cannot have changed places"


def test_a_squeeze_undoes_no_neglect() -> None:
    """I 3.14, 5.13: it is asked for before, not after it was seen that nothing was offered."""
    table = after(*cards("P1 2S, B1 3H, P2 AD, B2 2H, P3 5S"), game="super-six-plus")
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED, stage=Stage.AFTER_PLAYER_THIRD))
    assert "waives nothing" in table.refuses(GrantSqueeze())
    table.hear(card("B3", "4S"))
    table.tell(Notice(kind=Event.OTHER))
    assert table.phase == "suspended"
    assert table.refuses(GrantSqueeze()) == "no card is left to be squeezed"


def test_neglected_insurance_is_told_until_the_next_round() -> None:
    """I 5.13 hangs on no settlement; what goes back after it is settled anew. A void round has given all back."""
    table = after(*cards("P1 QS, B1 2S, P2 6H, B2 AC, B3 4D"), game="super-six-plus")
    table.tell(SettleRound())
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED))
    assert (table.question.question, table.phase) == ("intended", "settled")
    (settled,) = (each for each in table.answer("yes") if isinstance(each, RoundSettled))
    assert settled.returned == (TookBack("others", "5.13", "player"),)
    table.tell(VoidRound())
    assert table.refuses(Notice(kind=Event.INSURANCE_NEGLECTED)) == (
        "no bet stands that insurance was owed to: the table is voided"
    )


def test_each_player_may_have_meant_to_be_insured() -> None:
    """I 5.13: the manager finds it of one by one, and `others` are whoever was not named."""
    table = after(*cards("P1 QS, B1 2S, P2 6H, B2 AC, B3 4D"), game="super-six-plus")
    table.tell(Notice(kind=Event.INSURANCE_NEGLECTED))
    table.answer("yes", bettor="ann")
    table.answer("no")
    (settled,) = (each for each in table.tell(SettleRound()) if isinstance(each, RoundSettled))
    assert settled.returned == (TookBack("ann", "5.13", "player"),)


def test_neglected_insurance_that_would_have_won_asks_whether_it_was_meant() -> None:
    """I 5.13: once the cards have told, a Pit Manager or above is asked; the round waits for nobody."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD"), game="super-six-plus")
    assert kinds(table.tell(Notice(kind=Event.INSURANCE_NEGLECTED, stage=Stage.AFTER_FOUR))) == [IrregularityNoticed]
    told = [event.data for event in table.step(card("B3", "4D"))]
    assert kinds(told) == [CardDrawn, IrregularityRuled, RoundCompleted, QuestionAsked]
    asked = table.question
    assert (asked.question, asked.clause, asked.role, asked.optional) == ("intended", "5.13", "pit-manager", True)
    table.answer("no")
    assert table.phase == "complete"


# --- decisions


def test_a_decision_is_by_the_role_that_the_question_names_or_above() -> None:
    """C 5.7 names the Pit Supervisor."""
    table = after(*NATURAL, card("B3", "5D"))
    decision = Decide(question=table.question.id, choice="yes")
    assert table.refuses(decision, Role.DEALER) == "dealer may not decide this: it takes pit-supervisor"
    assert table.refuses(decision, None) == "a player may not decide this: it takes pit-supervisor"
    table.tell(decision, Role.PIT_MANAGER)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("2", "there is no question 2; the open one is 1"),
        ("0", "there is no question 0; the open one is 1"),
        ("x", "there is no question x; the open one is 1"),
    ],
)
def test_an_unknown_question_cannot_be_answered(question: str, why: str) -> None:
    """The refusal names the open one."""
    table = after(*cards("P1 2S, B1 ?"))
    assert table.refuses(Decide(question=question, choice="9C")) == why


def test_a_question_is_answered_once() -> None:
    """Whoever comes second learns that it was answered, and that none is open."""
    table = after(*cards("P1 2S, B1 ?"))
    table.answer("9C")
    again = Decide(question="1", choice="9D")
    assert table.refuses(again) == "question 1 was answered, or has lapsed; none is open"


@pytest.mark.parametrize(
    ("before", "choice", "why"),
    [
        ("P1 2S, B1 ?", "9X", "9X is no answer; write a card, as in 8S or 10H, or foreign-card"),
        ("P1 2S, B1 ?", ("9C", "9D"), "9C,9D is no answer; write a card, as in 8S or 10H, or foreign-card"),
        ("P1 2S, P2 3S", "no", "no is no answer; write missed or wrong-side or none-of-these"),
    ],
)
def test_an_answer_that_is_none_is_refused(before: str, choice: str | tuple[str, ...], why: str) -> None:
    """With what would be right."""
    table = after(*cards(before))
    assert table.refuses(Decide(question=table.question.id, choice=choice)) == why


@pytest.mark.parametrize("choice", ["8S", ("8S",), ("8S", "8S"), ("8S", "3H", "4C")])
def test_cards_are_put_in_order_all_of_them_and_no_others(choice: str | tuple[str, ...]) -> None:
    """The refusal names them."""
    table = after(*NATURAL[:2])
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=1))
    why = table.refuses(Decide(question=table.question.id, choice=choice))
    said = choice if isinstance(choice, str) else ",".join(choice)
    assert why == f"{said} is no answer; write these cards in their order: 8S,3H"


def test_only_a_choice_of_players_is_anybodys_own() -> None:
    """Who answers for the house names no bettor."""
    table = after(*cards("P1 2S, B1 ?"))
    decision = Decide(question=table.question.id, choice="9C", bettor="bob")
    assert table.refuses(decision) == "face is nobody's own choice: leave bettor out"


# --- it is settled


@pytest.mark.parametrize("answer", [[], [result("player")]])
def test_a_complete_round_is_settled_by_a_person(answer: list[AnyObservation]) -> None:
    """With what every bet of the game got; the next one opens over it without a word of that."""
    table = after(*NATURAL, *answer)
    (settled,) = table.tell(SettleRound(), Role.DEALER)
    assert isinstance(settled, RoundSettled)
    assert {bet: paid.pays for bet, paid in settled.pays.items()} == {
        "player": "1:1",
        "banker": "lose",
        "tie": "lose",
        "player-pair": "lose",
        "banker-pair": "lose",
    }
    assert (settled.returned, settled.carried, table.phase) == ((), (), "settled")
    assert RoundSettled not in kinds(table.tell(OpenBets()))


@pytest.mark.parametrize("before", [[], NATURAL[:2], [*NATURAL, card("B3", "5D")]])
def test_a_round_that_is_not_complete_is_not_settled(before: list[AnyObservation]) -> None:
    """Nor one that waits."""
    table = after(*before)
    assert table.refuses(SettleRound()) == f"no round is complete: the table is {table.phase}"


# --- the shoe


def test_a_new_shoe_is_told_by_command() -> None:
    """Some shoes do not say it: an unfinished round is abandoned, and the next card opens round 1."""
    table = after(*NATURAL[:2])
    told = table.tell(StartShoe())
    assert kinds(told) == [RoundAbandoned, ShoeStarted]
    assert told[1] == ShoeStarted(shoe=2, shoe_integrity="complete")
    assert (table.shown.round, table.phase) == (None, "idle")


def test_an_empty_shoe_ends_a_round_that_needs_a_card() -> None:
    """C 5.5.4; a natural on the last four cards stands, and between rounds nothing is void."""
    told = after(*NATURAL[:3]).tell(EmptyShoe())
    (void,) = (each for each in told if isinstance(each, RoundVoided))
    assert (void.kind, void.clause) == ("too-few-cards", "5.5.4")
    for table, of in ((after(*NATURAL), (1, 1)), (Sitting(), (None, None))):
        (emptied,) = table.tell(EmptyShoe())
        assert isinstance(emptied, ShoeEmptied)
        assert (emptied.shoe, emptied.round) == of


def test_an_empty_shoe_ends_a_round_that_needs_a_card_after_all() -> None:
    """C 5.5.4: by a correction."""
    table = after(*NATURAL)
    table.tell(EmptyShoe())
    (void,) = (each for each in table.tell(CorrectCard(index=1, card=Card.S2)) if isinstance(each, RoundVoided))
    assert (void.kind, void.author) == ("too-few-cards", "ann")


def test_an_empty_shoe_ends_a_settled_round_that_needs_a_card_after_all() -> None:
    """C 5.5.4: it was told after the bets were paid."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.tell(EmptyShoe())
    told = table.tell(CorrectCard(index=1, card=Card.S2))
    assert [each.clause for each in told if isinstance(each, RoundVoided)] == ["5.5.4"]


def test_a_card_that_comes_shows_that_the_shoe_was_not_empty() -> None:
    """Nothing is void by a word that the shoe belies; the next round waits for a new shoe."""
    table = after(*NATURAL[:3])
    table.tell(Notice(kind=Event.DEALING_ERROR, reconstructable=False))
    table.tell(EmptyShoe())
    assert table.phase == "voided"
    table = after(*NATURAL[:3])
    table.tell(Notice(kind=Event.OTHER))
    table.tell(EmptyShoe())
    table.hear(NATURAL[3])
    table.answer("continue")
    assert table.phase == "complete"
    table.tell(EmptyShoe())
    table.tell(OpenBets())
    assert (table.question.question, table.question.kind) == ("next-round", "too-few-cards")
    table.answer("go-on")
    assert table.phase == "betting"


def test_an_empty_shoe_waits_for_what_is_asked() -> None:
    """The answer says whether a card is due."""
    table = after(*cards("P1 9S, B1 2S, P2 KH, B2 4D"))
    table.tell(Notice(kind=Event.DRAWN_TOGETHER, at=3))
    table.tell(EmptyShoe())
    assert table.phase == "suspended"
    would = {each.choice: each.void for each in table.question.consequences}
    assert would == {("KH", "4D"): None, ("4D", "KH"): "5.5.4"}
    table.answer(("4D", "KH"))
    assert table.phase == "voided"


def test_what_an_empty_shoe_lacks_is_taken_up_with_the_command() -> None:
    """The watch counts when it is told, and the table doubts the round in the same Step."""
    table = after(CUT, STARTED, *NATURAL)
    wrong = SetWrong(at=table.now, missing={Card.S8: 1}, extra={}, evidence="415 of 416 cards")
    told = table.step(came=Told(EmptyShoe(), Author("ann", Role.DEALER), "1"), found=[wrong])
    assert [event.type for event in told] == [
        "shoe.emptied",
        "round.suspended",
        "irregularity.noticed",
        "question.asked",
    ]
    assert table.question.kind == "deck-count"
