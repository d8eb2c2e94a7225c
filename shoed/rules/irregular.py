"""Irregularities: the rulings of the book, and the resulting course of the round.

The kinds are `IrregularityKind`, a closed vocabulary. The provisions of a game are the rows of its book:

    foreign-card wrong-count too-few-cards deck-count not-shuffled interruption                 usually void the round
    drawn-together order-altered card-in-excess card-exposed wrong-side face-up dealing-error   the round may continue
    insurance-neglected                                                             see `neglected_insurance.py`
    other                                                                           any other irregularity

Irregularities are processed in the given order. The cards are in the order in which they left the shoe. Dealing them in
that order by the Table of Play is the reconstruction (C 1.15): `deal` returns the hands, and the cards for the next
round. Missing facts are asked for (`questions`). A kind without a row in the book uses the row `other`. Without that
row the document is silent: the round waits for a person, and the ruling is marked `silent`.

A card that leaves a hand with a wrong number of cards and cannot be put back is a `wrong-count`. Two cards that stay on
the wrong sides have changed places: the round is the deal with the two cards exchanged. Whether an outcome is
established depends on the cards that were drawn before the error was noticed.
"""

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

import msgspec

from shoed.model.cards import Card
from shoed.model.irregularities import PLAYER, IrregularityKind, Role, Stage
from shoed.model.observations import Side
from shoed.rules.book import Fact, IrregularityRow, Options, Rule, RuleBook, Then
from shoed.rules.drawing import INITIAL_CARDS, Hands, due
from shoed.rules.questions import YES_NO, Ask, Choice, Inquiry, Question
from shoed.rules.results import established

# Whether the cards can be reconstructed, if it is not given: presumed or asked for these kinds, false for all others.
PRESUMED_RECONSTRUCTABLE: Final = frozenset({IrregularityKind.WRONG_SIDE})  # their order from the shoe is known
ASKED_RECONSTRUCTABLE: Final = frozenset(
    {
        IrregularityKind.WRONG_COUNT,
        IrregularityKind.ORDER_ALTERED,
        IrregularityKind.CARD_IN_EXCESS,
        IrregularityKind.CARD_EXPOSED,
        IrregularityKind.DEALING_ERROR,
    }
)
ABOUT_A_CARD: Final = frozenset(  # these kinds name a drawn card
    {
        *(IrregularityKind.CARD_IN_EXCESS, IrregularityKind.CARD_EXPOSED, IrregularityKind.DRAWN_TOGETHER),
        *(IrregularityKind.WRONG_SIDE, IrregularityKind.FACE_UP, IrregularityKind.ORDER_ALTERED),
    }
)
CONTINUE_OR_RETURN: Final = (Choice.CONTINUE, Choice.RETURN)
CONTINUE_OR_VOID: Final = (Choice.CONTINUE, Choice.VOID)
BLOCKING: Final = frozenset({Ask.CARD_ORDER, Ask.RECONSTRUCTABLE, Ask.RULING})


class Irregularity(msgspec.Struct, frozen=True):
    """One irregularity, with its known facts."""

    kind: IrregularityKind
    at: int = 0  # the ordinal of its first card
    noticed_at: int = 0  # the number of cards that were drawn before it was noticed
    count: int = 2  # cards drawn together
    order_known: bool = False  # of the cards drawn together
    reconstructable: bool | None = None  # None: not given
    order: tuple[Card, ...] = ()  # of an altered order: the cards from `at` on in their intended order
    of_the_dealing: bool = True  # dealing altered the order
    between_rounds: bool = False  # noticed while no round was open
    noticed_late: bool = False  # noticed after the next round began
    stage: Stage = Stage.AFTER_FOUR  # of insurance that was not offered
    other: int = 0  # the ordinal of the card that changed places with the card at `at`
    withdrawn: bool = False  # a corrected face shows that it did not happen


class RoundBets(msgspec.Struct, frozen=True):
    """The bets of a round, as far as irregularities depend on them."""

    bettors: tuple[str, ...] = ()  # with bets in the round, each once
    left: Mapping[str, int] = {}  # bettors who walked away, each with the number of cards drawn before
    # Bettor, bet, and stage of insurance: the bets that may establish an outcome. None: all bets of the game.
    placed: frozenset[tuple[str, str, Stage | None]] | None = None


NO_BETS: Final = RoundBets()


class Ruling(msgspec.Struct, frozen=True):
    """The provision of the book for one irregularity."""

    irregularity: int
    then: Then
    clause: str
    decides: Role | None = None
    silent: bool = False  # the document has no provision
    reading: str = ""


class Course(msgspec.Struct, frozen=True):
    """The round after all its irregularities."""

    hands: Hands
    carried: tuple[Card, ...]  # to the next round
    due: Side | None
    rulings: tuple[Ruling, ...]
    void: Ruling | None
    suspended: bool  # the round waits for an answer
    returned: Mapping[str, str]  # bettors who took back their bets of the round, each with the clause
    undecided: frozenset[str]  # bettors with an open option
    carried_at: tuple[int, ...] = ()  # the ordinals of the carried cards


def deal(book: RuleBook, cards: Sequence[Card]) -> tuple[Hands, tuple[Card, ...]]:
    """The hands after dealing the cards in this order by the Table of Play, and the cards that were not due."""
    hands = Hands(tuple(cards[0:INITIAL_CARDS:2]), tuple(cards[1:INITIAL_CARDS:2]))  # C 3.10
    for at, card in enumerate(cards[INITIAL_CARDS:], INITIAL_CARDS):
        belongs = due(book, hands)
        if belongs is None:
            return hands, tuple(cards[at:])
        hands = hands.with_card(belongs, card)
    return hands, ()


def course(
    book: RuleBook,
    cards: Sequence[Card],
    irregularities: Sequence[Irregularity],
    inquiry: Inquiry,
    layout: RoundBets = NO_BETS,
) -> Course:
    fold = _CourseFold(book, tuple(cards), tuple(irregularities), inquiry, layout)
    for position, irregularity in enumerate(irregularities):
        # Neglected insurance is ruled on after the round: see `neglected_insurance.py`.
        if irregularity.kind is not IrregularityKind.INSURANCE_NEGLECTED or irregularity.noticed_late:
            fold.add(position, irregularity)
    return fold.course()


class _CourseFold:
    """The fold of a round over its irregularities."""

    def __init__(
        self,
        book: RuleBook,
        cards: tuple[Card, ...],
        irregularities: tuple[Irregularity, ...],
        inquiry: Inquiry,
        layout: RoundBets,
    ) -> None:
        self.book = book
        self.reported: Final = cards
        self.cards = cards
        self.inquiry = inquiry
        self.layout: Final = layout
        self.known = len(cards)  # the number of first cards whose order is known
        self.awaited: Question | None = None  # about the order of the other cards
        self.swaps = _exchanged(book, cards, irregularities)  # ordinals; None: a hand has a wrong number of cards
        self.aside: set[int] = set()  # ordinals of cards for the next round
        self.rulings: list[Ruling] = []
        self.returned: dict[str, str] = {}
        self.undecided: set[str] = set()

    def course(self) -> Course:
        hands, carried, carried_at = self._dealt(self.known)
        void = next((ruling for ruling in self.rulings if ruling.then is Then.VOID), None)
        if void is None:
            undecided = frozenset(self.undecided - set(self.returned))
            suspended = any(question.ask in BLOCKING for question in self.inquiry.open)
            rulings, next_due = tuple(self.rulings), due(self.book, hands)
            returned = self.returned
            return Course(hands, carried, next_due, rulings, void, suspended, returned, undecided, carried_at)
        self.inquiry.open[:] = [
            question for question in self.inquiry.open if question.ask in (Ask.NEXT_ROUND, Ask.SET_REPLACED)
        ]
        return Course(hands, carried, None, tuple(self.rulings), void, False, {}, frozenset(), carried_at)  # noqa: FBT003

    def _dealt(self, drawn: int) -> tuple[Hands, tuple[Card, ...], tuple[int, ...]]:
        """The hands after so many cards of known order, the cards for the next round, and their ordinals."""
        cards = list(self.cards[: min(drawn, self.known)])
        for one, other in self.swaps or ():
            if max(one, other) <= len(cards):
                cards[one - 1], cards[other - 1] = cards[other - 1], cards[one - 1]
        in_round = [at for at in range(1, len(cards) + 1) if at not in self.aside]
        hands, extra = deal(self.book, [cards[at - 1] for at in in_round])
        carried = sorted({*in_round[len(in_round) - len(extra) :]} | {at for at in self.aside if at <= len(cards)})
        return hands, tuple([cards[at - 1] for at in carried]), tuple(carried)

    def add(self, position: int, irregularity: Irregularity) -> None:
        ruling = self._without_effect(position, irregularity)
        if ruling is not None:
            self.rulings.append(ruling)
            return
        order = self._order_awaited(irregularity)
        if (order is not None or self._awaits_cards(irregularity)) and self._depends_on_cards(irregularity):
            self.rulings.append(Ruling(position, Then.ASK, "") if order is None else _waiting_ruling(position, order))
            return
        restored = self._reconstructable(position, irregularity)
        if restored is None:
            self.rulings.append(_waiting_ruling(position, self.inquiry.open[-1]))
            return
        row = self._row(irregularity, restored=restored)
        ruling = self._apply_row(position, irregularity, row, restored=restored)
        self.rulings.append(ruling)
        if row is not None and self._gives_options(irregularity, row):
            left = self.layout.left
            present = [
                name
                for name in self.layout.bettors
                if left.get(name, irregularity.noticed_at) >= irregularity.noticed_at
            ]
            self._ask_players(position, row, present, restored=restored)

    def _without_effect(self, position: int, irregularity: Irregularity) -> Ruling | None:
        """The ruling on an irregularity without effect: withdrawn, noticed too late, between rounds, or complete."""
        if irregularity.withdrawn:
            reading = "it did not happen: by the corrected faces the card was due"
            return Ruling(position, Then.STANDS, "", reading=reading)
        if irregularity.noticed_late:  # C 5.11
            late = row_of(self.book, IrregularityKind.NOTICED_LATE, {})
            reading = "an error noticed after the next round began does not change this round"
            return ruling_by(position, late) if late else Ruling(position, Then.STANDS, "", None, True, reading)  # noqa: FBT003
        clause, decides = clause_and_role(self.book, irregularity.kind)
        if irregularity.between_rounds and not self._counts_until_next_round(irregularity):
            self.inquiry.choice(Question(Ask.NEXT_ROUND, position, decides, clause, (Choice.GO_ON,)))
            reading = "no round is open; the next round waits for a person"
            silent = not any(row.clause for row in rows_of(self.book, irregularity.kind))
            return Ruling(position, Then.STANDS, clause, decides, silent=silent, reading=reading)
        completed = due(self.book, self._dealt(irregularity.noticed_at)[0]) is None
        if irregularity.kind is IrregularityKind.TOO_FEW_CARDS and completed and not self._awaits_cards(irregularity):
            return Ruling(position, Then.STANDS, clause, silent=not clause, reading="the round has all its cards")
        return None

    def _order_awaited(self, irregularity: Irregularity) -> Question | None:
        """The open question about the order of cards that this irregularity depends on.

        A void must wait for the answer, because a void closes the question.
        """
        return self.awaited if irregularity.noticed_at > self.known else None

    def _awaits_cards(self, irregularity: Irregularity) -> bool:
        """Whether cards that were drawn before the irregularity was noticed are not known yet."""
        return irregularity.noticed_at > len(self.reported)

    def _depends_on_cards(self, irregularity: Irregularity) -> bool:
        rows = rows_of(self.book, irregularity.kind)
        on_an_outcome = any(Fact.ESTABLISHED in row.when for row in rows) and not self._established(irregularity)
        return on_an_outcome or irregularity.kind is IrregularityKind.TOO_FEW_CARDS

    def _counts_until_next_round(self, irregularity: Irregularity) -> bool:
        """C 5.5.3: a wrong number of cards has effect until the next round begins."""
        not_stated = irregularity.kind is IrregularityKind.WRONG_COUNT and irregularity.reconstructable is None
        return not_stated or (irregularity.reconstructable is False and self._leaves_wrong_count(irregularity))

    def _reconstructable(self, position: int, irregularity: Irregularity) -> bool | None:
        """C 5.7: the house has absolute discretion. The proposal is always to reconstruct."""
        if irregularity.reconstructable is not None:
            return irregularity.reconstructable
        if irregularity.kind is IrregularityKind.DRAWN_TOGETHER:
            return irregularity.order_known
        if irregularity.kind not in ASKED_RECONSTRUCTABLE:
            return irregularity.kind in PRESUMED_RECONSTRUCTABLE
        row, other = self._row(irregularity, restored=True), self._row(irregularity, restored=False)
        if row is other and (row is None or row.then is Then.ASK):
            return False  # both answers have the same consequence
        row = next(iter(rows_of(self.book, irregularity.kind)), other)
        decides, clause = (row.decides, row.clause) if row else (None, "")
        question = Question(Ask.RECONSTRUCTABLE, position, decides, clause, YES_NO, proposed=Choice.YES)
        answer = self.inquiry.choice(question)
        return None if answer is None else answer is Choice.YES

    def _row(self, irregularity: Irregularity, *, restored: bool) -> IrregularityRow | None:
        facts = {
            Fact.RECONSTRUCTABLE: restored,
            Fact.ORDER_KNOWN: irregularity.order_known,
            Fact.INITIAL_DEAL: irregularity.at <= INITIAL_CARDS,
            Fact.ESTABLISHED: self._established(irregularity),
            Fact.OF_THE_DEALING: irregularity.of_the_dealing,
        }
        miscounted = not restored and self._leaves_wrong_count(irregularity)
        row = row_of(self.book, IrregularityKind.WRONG_COUNT, facts) if miscounted else None
        return row or row_of(self.book, irregularity.kind, facts) or row_of(self.book, IrregularityKind.OTHER, facts)

    def _leaves_wrong_count(self, irregularity: Irregularity) -> bool:
        match irregularity.kind:
            case IrregularityKind.WRONG_SIDE:
                return self.swaps is None
            case IrregularityKind.WRONG_COUNT | IrregularityKind.CARD_IN_EXCESS:
                return True
            case _:
                return False

    def _established(self, irregularity: Irregularity) -> bool:
        hands, _, _ = self._dealt(irregularity.noticed_at)
        placed_bets = self.layout.placed
        placed = (
            None
            if placed_bets is None
            else {(bet, stage) for bettor, bet, stage in placed_bets if bettor not in self.returned}
        )
        return established(self.book, hands, placed)

    def _apply_row(
        self, position: int, irregularity: Irregularity, row: IrregularityRow | None, *, restored: bool
    ) -> Ruling:
        """Apply the row of the book, up to the first question to a person."""
        if row is None:
            reading = "the document has no provision for this; a person decides"
            then = _then_of(self.inquiry.choice(Question(Ask.RULING, position, None, "", CONTINUE_OR_VOID)))
            self._restore_if_continued(irregularity, then, restored=restored)
            return Ruling(position, then, "", silent=True, reading=reading)
        ruling = ruling_by(position, row)
        match row.then:
            case Then.ASK:
                question = Question(Ask.RULING, position, row.decides, row.clause, CONTINUE_OR_VOID)
                ruling = msgspec.structs.replace(ruling, then=_then_of(self.inquiry.choice(question)))
                self._restore_if_continued(irregularity, ruling.then, restored=restored)
            case Then.ORDER_CARDS:
                self._order_cards(position, irregularity, row)
            case Then.RECONSTRUCT | Then.RECONSTRUCT_OR_CARRY | Then.CONTINUE:
                self._restore(irregularity, restored=restored)
            case Then.VOID | Then.STANDS | Then.RETURN_ORIGINAL:
                pass
            case _:
                assert_never(row.then)
        set_replaced = row_of(self.book, IrregularityKind.SET_REPLACED, {})
        if (
            irregularity.kind is IrregularityKind.DRAWN_TOGETHER
            and not irregularity.order_known
            and set_replaced is not None
        ):
            self.inquiry.choice(
                Question(Ask.SET_REPLACED, position, set_replaced.decides, set_replaced.clause, YES_NO, optional=True)
            )
        return ruling

    def _order_cards(self, position: int, irregularity: Irregularity, row: IrregularityRow) -> None:
        first = irregularity.at - 1
        together = self.cards[first : first + irregularity.count]
        question = Question(Ask.CARD_ORDER, position, row.decides, row.clause, cards=together)
        ordered = self.inquiry.order(question)
        if ordered is None:
            self.known, self.awaited = min(self.known, first), question
        else:
            self.cards = (*self.cards[:first], *ordered, *self.cards[first + irregularity.count :])

    def _restore_if_continued(self, irregularity: Irregularity, then: Then, *, restored: bool) -> None:
        """F 5.4: an altered order voids the round only if it is not reconstructable; else play the reconstruction."""
        allowed = any(Fact.RECONSTRUCTABLE in row.when for row in rows_of(self.book, IrregularityKind.ORDER_ALTERED))
        if irregularity.kind is IrregularityKind.ORDER_ALTERED and then is Then.CONTINUE and allowed:
            self._restore(irregularity, restored=restored)

    def _restore(self, irregularity: Irregularity, *, restored: bool) -> None:
        first = irregularity.at - 1
        if irregularity.kind is IrregularityKind.ORDER_ALTERED and restored:
            as_reported = [
                card for at, card in enumerate(self.reported) if first <= at < first + len(irregularity.order)
            ]
            as_ordered = self.cards[first : first + len(as_reported)]
            self.cards = (
                *self.cards[:first],
                *_in_intended_order(as_reported, irregularity.order, as_ordered),
                *self.cards[first + len(as_reported) :],
            )
        elif irregularity.kind is IrregularityKind.CARD_EXPOSED and not restored:
            self.aside.add(irregularity.at)

    def _gives_options(self, irregularity: Irregularity, row: IrregularityRow) -> bool:
        match row.options:
            case Options.NEVER:
                return False
            case Options.ALWAYS:
                return True
            case Options.UNLESS_ESTABLISHED:
                return self._order_awaited(irregularity) is None and not self._established(irregularity)
            case _:
                assert_never(row.options)

    def _ask_players(self, position: int, row: IrregularityRow, bettors: Sequence[str], *, restored: bool) -> None:
        clause_continues = self.book.rules[Rule.OPTION_RECONSTRUCTED if restored else Rule.OPTION_CONTINUE].clause
        clause_returns = self.book.rules[Rule.OPTION_RETURN].clause
        for bettor in bettors:
            if bettor in self.returned:
                continue
            question = Question(
                Ask.OPTION,
                position,
                PLAYER,
                row.options_clause,
                CONTINUE_OR_RETURN,
                (clause_continues, clause_returns),
                bettor=bettor,
            )
            choice = self.inquiry.choice(question)
            if choice is Choice.RETURN:
                self.returned[bettor] = clause_returns
            elif choice is None:
                self.undecided.add(bettor)


def _exchanged(
    book: RuleBook, cards: Sequence[Card], irregularities: Sequence[Irregularity]
) -> tuple[tuple[int, int], ...] | None:
    """Pairs of cards, one of each side, that stay on the wrong sides. None if a card has no counterpart."""
    sides: dict[Side | None, list[int]] = {hand: [] for hand in (*Side, None)}
    for irregularity in irregularities:
        if (
            irregularity.kind is IrregularityKind.WRONG_SIDE
            and irregularity.reconstructable is False
            and not irregularity.noticed_late
        ):
            for at in (irregularity.at, irregularity.other) if irregularity.other else (irregularity.at,):
                sides[due(book, deal(book, cards[: at - 1])[0])].append(at)
    if len(sides[Side.PLAYER]) != len(sides[Side.BANKER]) or sides[None]:
        return None
    return tuple(zip(sides[Side.PLAYER], sides[Side.BANKER], strict=True))


def _in_intended_order(as_reported: Sequence[Card], intended: Sequence[Card], present: Sequence[Card]) -> list[Card]:
    """Apply the permutation from the reported order to the intended order to the cards in these places now."""
    places = list(range(len(as_reported)))
    taken = []
    for card in intended:
        place = next(place for place in places if as_reported[place] is card)
        places.remove(place)
        taken.append(present[place])
    return taken


def ruling_by(position: int, row: IrregularityRow) -> Ruling:
    return Ruling(position, row.then, row.clause, row.decides, silent=not row.clause, reading=row.reading)


def _waiting_ruling(position: int, asked: Question) -> Ruling:
    decides = asked.role if isinstance(asked.role, Role) else None
    return Ruling(position, Then.ASK, asked.clause, decides, silent=not asked.clause)


def _then_of(choice: Choice | None) -> Then:
    match choice:
        case Choice.VOID:
            return Then.VOID
        case Choice.CONTINUE:
            return Then.CONTINUE
        case _:
            return Then.ASK


def rows_of(book: RuleBook, kind: IrregularityKind) -> list[IrregularityRow]:
    return [row for row in book.irregularities if row.kind is kind]


def clause_and_role(book: RuleBook, kind: IrregularityKind) -> tuple[str, Role | None]:
    """The clause and the deciding role of a kind with one row. With several rows they depend on facts of the round."""
    rows = rows_of(book, kind)
    return (rows[0].clause, rows[0].decides) if len(rows) == 1 else ("", None)


def row_of(book: RuleBook, kind: IrregularityKind, facts: Mapping[Fact, bool]) -> IrregularityRow | None:
    """The row of the kind whose facts all match."""
    for row in rows_of(book, kind):
        if all(facts[fact] is wanted for fact, wanted in row.when.items()):
            return row
    return None
