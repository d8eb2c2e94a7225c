"""Commands at a table: the effect of each command and each reason for a refusal."""

import pytest

from shoed.model.cards import Card
from shoed.model.commands import (
    AnyCommand,
    Author,
    CloseBets,
    CorrectCard,
    Decide,
    EmptyShoe,
    GrantSqueeze,
    OpenBets,
    ReportIrregularity,
    ReportLate,
    SettleRound,
    StartShoe,
    VoidRound,
)
from shoed.model.events import (
    BetsClosed,
    BetsLate,
    CardDrawn,
    InsuranceWaived,
    IrregularityNoticed,
    IrregularityRuled,
    QuestionAsked,
    ReturnedBets,
    RoundAbandoned,
    RoundCompleted,
    RoundSettled,
    RoundStarted,
    RoundVoided,
    ShoeEmptied,
    ShoeStarted,
)
from shoed.model.findings import SetWrong
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.model.observations import AnyObservation
from shoed.model.step import Commanded
from tests.observed import CUT, JUMPED, NATURAL, STARTED, TableRun, after, card, cards, kinds, result

# --- roles

EVERY: list[AnyCommand] = [
    *(
        OpenBets(),
        CloseBets(),
        ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD),
        ReportLate(act="bet"),
        GrantSqueeze(),
        EmptyShoe(),
    ),
    *(CorrectCard(index=1, card=Card.S9), VoidRound(), SettleRound(), StartShoe()),
]


@pytest.mark.parametrize("command", EVERY)
def test_a_player_gives_no_command_of_the_house(command: AnyCommand) -> None:
    """A player makes only their own choice; each other command needs a role."""
    assert "name a role" in after(*NATURAL[:2]).refuses(command, None)


@pytest.mark.parametrize("command", [CorrectCard(index=1, card=Card.S9), VoidRound()])
def test_a_correction_needs_a_pit_supervisor_or_above(command: AnyCommand) -> None:
    """The table refuses a dealer."""
    table = after(*NATURAL[:2])
    assert (
        table.refuses(command, Role.DEALER) == "dealer may not correct the record; the required role is pit-supervisor"
    )
    table.tell(command, Role.SHIFT_MANAGER)


# --- bets


def test_bets_are_opened_and_closed() -> None:
    """The announcement starts the round, and its first card starts no other."""
    table = TableRun()
    assert kinds(table.tell(OpenBets(), Role.DEALER)) == [RoundStarted]
    assert table.phase == "betting"
    assert table.tell(CloseBets(), Role.DEALER) == [BetsClosed(shoe=1, round=1, closed_by="announcement")]
    assert table.phase == "closed"
    assert kinds(table.hear(card("P1", "8S"))) == [CardDrawn]


def test_the_first_card_closes_open_bets() -> None:
    """The close precedes the card in the same Step."""
    table = TableRun()
    table.tell(OpenBets())
    assert kinds(table.hear(card("P1", "8S"))) == [BetsClosed, CardDrawn]


@pytest.mark.parametrize(
    ("before", "phase"),
    [
        ([], "betting; end the round"),
        (NATURAL[:2], "dealing; end the round"),
        (cards("P1 2S, B2 3S"), "suspended; answer question 1"),
        ([*NATURAL, card("B3", "5D")], "suspended; answer question 1"),
    ],
)
def test_bets_are_not_opened_while_a_round_needs_a_card_or_an_answer(before: list[AnyObservation], phase: str) -> None:
    """The refusal states the phase and the open question."""
    table = after(*before)
    if not before:
        table.tell(OpenBets())
    assert table.refuses(OpenBets()) == f"round 1 is {phase} first, or void the round"


def test_a_refusal_names_the_question_that_suspends_the_round() -> None:
    """An older question about an earlier round does not hold play, and is not named."""
    table = after(*NATURAL, JUMPED, *cards("B1 5D, P1 2C"))
    assert table.question.optional
    assert table.refuses(OpenBets()) == "round 2 is dealing; end the round first, or void the round"
    table.hear(card("B2", "3S"))
    assert [(each.id, each.optional) for each in table.shown.questions] == [("2", False), ("1", True)]
    assert table.refuses(OpenBets()) == "round 2 is suspended; answer question 2 first, or void the round"
    assert table.refuses(SettleRound()) == "no round is complete; the table is suspended; answer question 2 first"


@pytest.mark.parametrize("before", [[], NATURAL[:2], NATURAL])
def test_bets_are_closed_only_while_they_are_open(before: list[AnyObservation]) -> None:
    """The refusal states the phase."""
    table = after(*before)
    assert table.refuses(CloseBets()) == f"bets are not open; the table is {table.phase}"


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
def test_a_late_bet_is_published_with_the_ruling_of_the_document(game: str, acts: dict[str, str]) -> None:
    """I and C refuse each act; F, E and T refuse an increase by its amount, and a withdrawn bet stands."""
    table = after(*NATURAL[:2], game=game)
    for act, then in acts.items():
        (late,) = table.tell(ReportLate(act=act), Role.DEALER)
        assert isinstance(late, BetsLate)
        assert (late.act, late.then, late.author, late.role) == (act, then, "ann", "dealer")


def test_a_late_bet_is_refused_while_bets_are_open() -> None:
    """The table also refuses it without a round, and an unknown act."""
    table = TableRun()
    assert table.refuses(ReportLate(act="bet")) == "the bets are not closed"
    table.tell(OpenBets())
    assert table.refuses(ReportLate(act="bet")) == "the bets are not closed"
    assert table.refuses(ReportLate(act="bets")) == ("bets is not a late act; write bet or increase or withdrawal")


# --- a squeeze


def test_a_squeeze_waives_the_insurance_after_players_third_card() -> None:
    """I 3.14: the waiver holds for all players of the round; earlier offers stand."""
    deal = cards("P1 2S, B1 3S, P2 KS, B2 KD, P3 6D")
    table = after(*deal, game="super-six-plus")
    assert [each.bet for each in table.shown.insurance] == ["player-insurance"]
    (waived,) = table.tell(GrantSqueeze(), Role.DEALER)
    assert isinstance(waived, InsuranceWaived)
    assert waived.clause == "3.14"
    assert table.shown.insurance == ()


def test_a_squeeze_is_granted_once_in_an_open_round_of_a_game_with_insurance() -> None:
    """Each refusal states its reason."""
    table = after(*NATURAL[:2], game="super-six-plus")
    table.tell(GrantSqueeze())
    assert table.refuses(GrantSqueeze()) == "a squeeze was granted already in this round"
    assert after(*NATURAL, game="super-six-plus").refuses(GrantSqueeze()) == "no round is open"
    assert after(*NATURAL[:2]).refuses(GrantSqueeze()) == "commission has no insurance that a squeeze waives"


# --- reported irregularities


def test_a_report_is_published_with_its_author_and_ruled_by_the_book() -> None:
    """C 5.5.1."""
    published = after(*NATURAL[:2]).tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD), Role.PIT_MANAGER)
    noticed, ruled, void = published
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
def test_a_person_decides_if_the_document_has_no_provision(game: str) -> None:
    """The round waits, and the ruling has no clause."""
    table = after(*NATURAL[:2], game=game)
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR))
    assert (table.phase, table.question.question, table.question.clause) == ("suspended", "ruling", None)
    assert table.question.role == "pit-supervisor"
    published = table.answer("void")
    ruled = next(each for each in published if isinstance(each, IrregularityRuled))
    assert (ruled.then, ruled.clause, ruled.silent) == ("void", None, True)
    assert table.phase == "voided"


@pytest.mark.parametrize(
    ("notice", "why"),
    [
        (
            ReportIrregularity(kind=IrregularityKind.SET_REPLACED),
            "set-replaced is a consequence, not an irregularity that a person reports",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.NOTICED_LATE),
            "noticed-late is a consequence, not an irregularity that a person reports",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.CARD_EXPOSED, at=3),
            "card-exposed names card 3, and the number of cards in the round is 2",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=2),
            "drawn-together names card 3, and the number of cards in the round is 2",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1, count=1),
            "drawn-together needs 2 cards or more; write count=2 or more",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD, round=2),
            "round 2 has not been played; the last round is 1",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.WRONG_SIDE, at=1, other=3),
            "the field other belongs to a notice of wrong-side and names a card of the round; correct the field",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.FACE_UP, at=1, other=2),
            "the field other belongs to a notice of wrong-side and names a card of the round; correct the field",
        ),
        (
            ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=1, order=(Card.S8, Card.S9)),
            "the field order must have the cards from card 1 on: 8S 3H",
        ),
    ],
)
def test_an_impossible_report_is_refused(notice: ReportIrregularity, why: str) -> None:
    """The refusal states the error, and no matter is recorded."""
    assert after(*NATURAL[:2]).refuses(notice) == why


def test_a_report_about_a_card_before_the_first_card_is_refused() -> None:
    """A report without a card is accepted."""
    table = TableRun()
    table.tell(OpenBets())
    assert (
        table.refuses(ReportIrregularity(kind=IrregularityKind.WRONG_SIDE))
        == "wrong-side concerns a card, and no card is drawn yet"
    )
    table.tell(ReportIrregularity(kind=IrregularityKind.NOT_SHUFFLED))
    assert table.phase == "voided"


def test_an_order_of_waiting_cards_is_refused() -> None:
    """The open question decides whether they belong to the round."""
    table = after(*cards("P1 2S, B1 3S, B2 4S"))
    assert table.refuses(ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, order=(Card.S4,))) == (
        "card 3 has no place in the round yet; answer question 1 first"
    )
    table.tell(ReportIrregularity(kind=IrregularityKind.FOREIGN_CARD))
    assert table.phase == "voided"


def test_a_reported_order_is_put_back() -> None:
    """C 5.12: the hands follow the reported order, and the events show them."""
    table = after(*NATURAL[:2])
    table.tell(
        ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=1, order=(Card.H3, Card.S8), reconstructable=True)
    )
    assert (table.question.question, table.hands) == ("option", "3H / 8S")
    table.answer("continue")
    assert (table.phase, table.hands) == ("dealing", "3H / 8S")


def test_a_reconstruction_is_shown_with_the_dealt_hands() -> None:
    """A player with options sees both hands; equal hands are shown once."""
    table = after(*NATURAL[:2])
    table.tell(
        ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=1, order=(Card.H3, Card.S8), reconstructable=True)
    )
    shown = [each.as_dealt for each in table.question.consequences]
    assert [each and (each.player.cards, each.banker.cards) for each in shown] == [((Card.S8,), (Card.H3,))] * 2
    table = after(*NATURAL[:2])
    table.tell(
        ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=1, order=(Card.S8, Card.H3), reconstructable=True)
    )
    assert [each.as_dealt for each in table.question.consequences] == [None, None]


def test_the_last_card_may_be_part_of_an_altered_order() -> None:
    """The card has a place in the round."""
    table = after(*NATURAL[:2])
    table.tell(ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=2, order=(Card.H3,), reconstructable=True))
    assert table.question.kind == "order-altered"


def test_a_card_of_an_altered_order_may_be_in_excess() -> None:
    """I 5.12: the order of two cards is known, then the second card is reported in excess."""
    table = after(*cards("P1 6C, B1 4D"), game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.ORDER_ALTERED, at=1, order=(Card.D4, Card.C6)))
    table.answer("yes")
    table.tell(ReportIrregularity(kind=IrregularityKind.CARD_IN_EXCESS))
    table.answer("continue")
    assert table.asks("reconstructable", "yes", "no")
    table.answer("yes")
    table.answer("continue")
    table.hear(card("P2", "2H"))
    assert table.hands == "4D 2H / 6C"


def test_a_notice_about_an_earlier_round_changes_no_later_round() -> None:
    """C 5.11: the notice is recorded, and the earlier round stands."""
    table = after(*NATURAL, *NATURAL[:2])
    noticed, ruled = table.tell(ReportIrregularity(kind=IrregularityKind.WRONG_COUNT, round=1))
    assert isinstance(noticed, IrregularityNoticed)
    assert isinstance(ruled, IrregularityRuled)
    assert (noticed.late, noticed.number, ruled.number) == (True, None, None)
    assert (noticed.round, ruled.round, ruled.then, ruled.clause) == (1, 1, "stands", "5.11")
    assert (table.phase, table.hands) == ("dealing", "8S / 3H")


def test_a_notice_between_two_rounds_makes_the_next_round_wait() -> None:
    """No round is void, because no round is open."""
    table = after(CUT, STARTED)
    published = table.tell(ReportIrregularity(kind=IrregularityKind.DECK_COUNT))
    assert kinds(published) == [IrregularityNoticed, IrregularityRuled, QuestionAsked]
    assert isinstance(published[0], IrregularityNoticed)
    assert published[0].author == "ann"


def test_a_notice_before_the_first_shoe_names_no_shoe() -> None:
    """The events have neither a shoe nor a round."""
    published = TableRun().tell(ReportIrregularity(kind=IrregularityKind.DECK_COUNT))
    assert {(each.shoe, each.round) for each in published if isinstance(each, IrregularityNoticed | QuestionAsked)} == {
        (None, None)
    }


@pytest.mark.parametrize(("at", "other"), [(1, 1), (1, 3), (2, 4)])
def test_an_exchange_of_cards_of_one_side_is_refused(at: int, other: int) -> None:
    """C 5.8.1 names the other side."""
    notice = ReportIrregularity(kind=IrregularityKind.WRONG_SIDE, at=at, other=other, reconstructable=False)
    assert (
        after(*NATURAL).refuses(notice) == f"cards {at} and {other} are of one side, so they cannot have changed places"
    )


def test_a_squeeze_after_neglected_insurance_is_refused() -> None:
    """I 3.14, 5.13: the squeeze is granted before the insurance is due."""
    table = after(*cards("P1 2S, B1 3H, P2 AD, B2 2H, P3 5S"), game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, stage=Stage.AFTER_PLAYER_THIRD))
    assert "waives nothing" in table.refuses(GrantSqueeze())
    table.hear(card("B3", "4S"))
    table.tell(ReportIrregularity(kind=IrregularityKind.OTHER))
    assert table.phase == "suspended"
    assert table.refuses(GrantSqueeze()) == "no card is due that could be squeezed"


def test_neglected_insurance_is_reported_until_the_next_round() -> None:
    """I 5.13: a report after the settlement settles the round again; a void round has returned all stakes."""
    table = after(*cards("P1 QS, B1 2S, P2 6H, B2 AC, B3 4D"), game="super-six-plus")
    table.tell(SettleRound())
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED))
    assert (table.question.question, table.phase) == ("intended", "settled")
    (settled,) = (each for each in table.answer("yes") if isinstance(each, RoundSettled))
    assert settled.returned == (ReturnedBets("others", "5.13", "player"),)
    table.tell(VoidRound())
    assert table.refuses(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED)) == (
        "no bet with a right to insurance is in play; the table is voided"
    )


def test_the_intention_to_insure_is_decided_for_each_player() -> None:
    """I 5.13: the pit manager decides for each bettor, and `others` are all unnamed bettors."""
    table = after(*cards("P1 QS, B1 2S, P2 6H, B2 AC, B3 4D"), game="super-six-plus")
    table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED))
    table.answer("yes", bettor="ann")
    table.answer("no")
    (settled,) = (each for each in table.tell(SettleRound()) if isinstance(each, RoundSettled))
    assert settled.returned == (ReturnedBets("ann", "5.13", "player"),)


def test_neglected_insurance_that_would_have_won_asks_for_the_intention() -> None:
    """I 5.13: after the deciding card a pit manager or above is asked, and the round does not wait."""
    table = after(*cards("P1 6S, B1 3S, P2 KS, B2 KD"), game="super-six-plus")
    assert kinds(table.tell(ReportIrregularity(kind=IrregularityKind.INSURANCE_NEGLECTED, stage=Stage.AFTER_FOUR))) == [
        IrregularityNoticed
    ]
    published = [event.data for event in table.step(card("B3", "4D"))]
    assert kinds(published) == [CardDrawn, IrregularityRuled, RoundCompleted, QuestionAsked]
    asked = table.question
    assert (asked.question, asked.clause, asked.role, asked.optional) == ("intended", "5.13", "pit-manager", True)
    table.answer("no")
    assert table.phase == "complete"


# --- decisions


def test_a_decision_needs_the_role_of_the_question_or_above() -> None:
    """C 5.7 names the pit supervisor."""
    table = after(*NATURAL, card("B3", "5D"))
    decision = Decide(question=table.question.id, choice="yes")
    assert (
        table.refuses(decision, Role.DEALER)
        == "dealer may not answer this question; the required role is pit-supervisor"
    )
    assert table.refuses(decision, None) == "a player may not answer this question; the required role is pit-supervisor"
    table.tell(decision, Role.PIT_MANAGER)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("2", "there is no question 2; open questions: 1"),
        ("0", "there is no question 0; open questions: 1"),
        ("x", "there is no question x; open questions: 1"),
    ],
)
def test_an_answer_to_an_unknown_question_is_refused(question: str, why: str) -> None:
    """The refusal names the open question."""
    table = after(*cards("P1 2S, B1 ?"))
    assert table.refuses(Decide(question=question, choice="9C")) == why


def test_a_question_is_answered_once() -> None:
    """A second answer is refused, and the refusal states that no question is open."""
    table = after(*cards("P1 2S, B1 ?"))
    table.answer("9C")
    again = Decide(question="1", choice="9D")
    assert table.refuses(again) == "question 1 was answered or has lapsed; no question is open"


@pytest.mark.parametrize(
    ("before", "choice", "why"),
    [
        ("P1 2S, B1 ?", "9X", "9X is not an answer to this question; write a card, as in 8S or 10H, or foreign-card"),
        (
            "P1 2S, B1 ?",
            ("9C", "9D"),
            "9C,9D is not an answer to this question; write a card, as in 8S or 10H, or foreign-card",
        ),
        ("P1 2S, P2 3S", "no", "no is not an answer to this question; write missed or wrong-side or none-of-these"),
    ],
)
def test_an_invalid_answer_is_refused(before: str, choice: str | tuple[str, ...], why: str) -> None:
    """The refusal lists the valid answers."""
    table = after(*cards(before))
    assert table.refuses(Decide(question=table.question.id, choice=choice)) == why


@pytest.mark.parametrize("choice", ["8S", ("8S",), ("8S", "8S"), ("8S", "3H", "4C")])
def test_an_order_of_cards_contains_each_card_once(choice: str | tuple[str, ...]) -> None:
    """The refusal lists the cards."""
    table = after(*NATURAL[:2])
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=1))
    why = table.refuses(Decide(question=table.question.id, choice=choice))
    written = choice if isinstance(choice, str) else ",".join(choice)
    assert why == f"{written} is not an answer to this question; write these cards in their order: 8S,3H"


def test_only_a_choice_of_a_player_names_a_bettor() -> None:
    """An answer for the house with a bettor is refused."""
    table = after(*cards("P1 2S, B1 ?"))
    decision = Decide(question=table.question.id, choice="9C", bettor="bob")
    assert table.refuses(decision) == "the question face is not for one bettor; leave bettor out"


# --- settlement


@pytest.mark.parametrize("answer", [[], [result("player")]])
def test_a_person_settles_a_complete_round(answer: list[AnyObservation]) -> None:
    """The event contains the pay of each bet, and the next round does not settle it again."""
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
def test_a_round_that_is_not_complete_cannot_be_settled(before: list[AnyObservation]) -> None:
    """The same holds for a suspended round, whose question is named."""
    table = after(*before)
    remedy = "; answer question 1 first" if table.phase == "suspended" else ""
    assert table.refuses(SettleRound()) == f"no round is complete; the table is {table.phase}{remedy}"


# --- the shoe


def test_a_command_starts_a_new_shoe() -> None:
    """An unfinished round is abandoned, and the next card starts round 1."""
    table = after(*NATURAL[:2])
    published = table.tell(StartShoe())
    assert kinds(published) == [RoundAbandoned, ShoeStarted]
    assert published[1] == ShoeStarted(shoe=2, shoe_integrity="complete")
    assert (table.shown.round, table.phase) == (None, "idle")


def test_an_empty_shoe_voids_a_round_that_needs_a_card() -> None:
    """C 5.5.4: a natural on the last four cards stands, and between rounds no round is void."""
    published = after(*NATURAL[:3]).tell(EmptyShoe())
    (void,) = (each for each in published if isinstance(each, RoundVoided))
    assert (void.kind, void.clause) == ("too-few-cards", "5.5.4")
    for table, of in ((after(*NATURAL), (1, 1)), (TableRun(), (None, None))):
        (emptied,) = table.tell(EmptyShoe())
        assert isinstance(emptied, ShoeEmptied)
        assert (emptied.shoe, emptied.round) == of


def test_an_empty_shoe_voids_a_round_that_needs_a_card_after_a_correction() -> None:
    """C 5.5.4: the correction makes a card due."""
    table = after(*NATURAL)
    table.tell(EmptyShoe())
    (void,) = (each for each in table.tell(CorrectCard(index=1, card=Card.S2)) if isinstance(each, RoundVoided))
    assert (void.kind, void.author) == ("too-few-cards", "ann")


def test_an_empty_shoe_voids_a_settled_round_that_needs_a_card_after_a_correction() -> None:
    """C 5.5.4: the shoe is reported empty after the settlement."""
    table = after(*NATURAL)
    table.tell(SettleRound())
    table.tell(EmptyShoe())
    published = table.tell(CorrectCard(index=1, card=Card.S2))
    assert [each.clause for each in published if isinstance(each, RoundVoided)] == ["5.5.4"]


def test_a_card_disproves_a_report_of_an_empty_shoe() -> None:
    """The round is not void; the next round waits for a new shoe."""
    table = after(*NATURAL[:3])
    table.tell(ReportIrregularity(kind=IrregularityKind.DEALING_ERROR, reconstructable=False))
    table.tell(EmptyShoe())
    assert table.phase == "voided"
    table = after(*NATURAL[:3])
    table.tell(ReportIrregularity(kind=IrregularityKind.OTHER))
    table.tell(EmptyShoe())
    table.hear(NATURAL[3])
    table.answer("continue")
    assert table.phase == "complete"
    table.tell(EmptyShoe())
    table.tell(OpenBets())
    assert (table.question.question, table.question.kind) == ("next-round", "too-few-cards")
    table.answer("go-on")
    assert table.phase == "betting"


def test_the_ruling_on_an_empty_shoe_waits_for_the_open_question() -> None:
    """The answer decides whether a card is due."""
    table = after(*cards("P1 9S, B1 2S, P2 KH, B2 4D"))
    table.tell(ReportIrregularity(kind=IrregularityKind.DRAWN_TOGETHER, at=3))
    table.tell(EmptyShoe())
    assert table.phase == "suspended"
    would = {each.choice: each.void for each in table.question.consequences}
    assert would == {("KH", "4D"): None, ("4D", "KH"): "5.5.4"}
    table.answer(("4D", "KH"))
    assert table.phase == "voided"


def test_a_shortage_is_in_question_in_the_step_of_the_empty_shoe_command() -> None:
    """The watch counts at the command, and the table suspends the round in the same Step."""
    table = after(CUT, STARTED, *NATURAL)
    wrong = SetWrong(at=table.now, missing={Card.S8: 1}, extra={}, evidence="415 of 416 cards")
    published = table.step(incoming=Commanded(EmptyShoe(), Author("ann", Role.DEALER), "1"), found=[wrong])
    assert [event.type for event in published] == [
        "shoe.emptied",
        "round.suspended",
        "irregularity.noticed",
        "question.asked",
    ]
    assert table.question.kind == "deck-count"
