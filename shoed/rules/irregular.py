"""Irregularities: what the book demands when something goes wrong, and how the round then stands.

The kinds are `book.Event`, a closed vocabulary; what each game says of a kind is rows of its book and nothing else:

    foreign-card wrong-count too-few-cards deck-count not-shuffled interruption     mostly the end of the round
    drawn-together order-altered card-in-excess card-exposed wrong-side face-up dealing-error   it may go on
    insurance-neglected                                                             see `neglected`
    other                                                                           nothing fits

Each is taken in the order given, on the cards in the order they left the shoe: that order, played by the Table of
Play, *is* the reconstruction (C 1.15), so `lay` says how the cards lie afterwards and which are left for the next
round. Facts that nobody gave are asked for (`questions`). A kind of which the book has no row goes to the row
`other`; where there is none the document is silent: the round waits for a person, and the ruling says so.

A card that leaves a hand with a wrong number of cards, and cannot be put back, is the book's `wrong-count`.
Whether an outcome is established is reckoned from the cards that had been drawn when the error was noticed.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, assert_never

import msgspec

from shoed.cards import Card
from shoed.observations import Pair
from shoed.rules.book import Event, Fact, Irregularity, Options, Role, Rule, RuleBook, Stage, Then
from shoed.rules.drawing import INITIAL_CARDS, Hands, due
from shoed.rules.insurance import offers, settle_offer
from shoed.rules.questions import PLAYER, YES_NO, Ask, Choice, Inquiry, Question
from shoed.rules.results import established

# Whether the cards can be put back, where nobody says it. What is not here is asked.
PRESUMED: Final[Mapping[Event, bool]] = {
    Event.WRONG_SIDE: True,  # the order in which they left the shoe is known
    Event.FACE_UP: False,  # every card lies where it belongs: there is nothing to put back
}
ASKED: Final = frozenset(
    {Event.WRONG_COUNT, Event.ORDER_ALTERED, Event.CARD_IN_EXCESS, Event.CARD_EXPOSED, Event.DEALING_ERROR}
)
CONTINUE_OR_RETURN: Final = (Choice.CONTINUE, Choice.RETURN)
CONTINUE_OR_VOID: Final = (Choice.CONTINUE, Choice.VOID)
NOT_DUE: Final = "nothing was due to be offered to anybody who did not take it"
BLOCKING: Final = frozenset({Ask.CARD_ORDER, Ask.RECONSTRUCTABLE, Ask.RULING})


class Happened(msgspec.Struct, frozen=True):
    """One irregularity as it was seen."""

    event: Event
    at: int  # the ordinal of the card that it begins with
    noticed_at: int  # how many cards had been drawn when it was noticed
    count: int = 2  # cards drawn together
    order_known: bool = False  # of these
    reconstructable: bool | None = None  # None: nobody said
    order: tuple[Card, ...] = ()  # altered and known: the cards from `at` on as they were meant to come
    of_the_dealing: bool = True  # an order was altered by dealing, not by something else
    between_rounds: bool = False  # noticed while no round was open
    noticed_late: bool = False  # noticed once the next round had begun
    stage: Stage = Stage.AFTER_FOUR  # of insurance that was not offered


class Layout(msgspec.Struct, frozen=True):
    """What of the bets matters here."""

    bettors: tuple[str, ...] = ()  # who has bets and is there to be asked, each once
    # Bettor, bet, and stage of an insurance: what may establish an outcome. None: all bets of the game.
    placed: frozenset[tuple[str, str, Stage | None]] | None = None


NO_BETS: Final = Layout()


class Ruling(msgspec.Struct, frozen=True):
    """What the book says of one irregularity."""

    irregularity: int
    then: Then
    clause: str
    decides: Role | None = None
    silent: bool = False  # the document says nothing of it
    reading: str = ""


class Course(msgspec.Struct, frozen=True):
    """How the round stands once every irregularity has been looked at."""

    hands: Hands
    carried: tuple[Card, ...]  # to the next round
    due: Pair | None
    rulings: tuple[Ruling, ...]
    void: Ruling | None
    suspended: bool  # a question is open on which everything hangs
    returned: Mapping[str, str]  # who took the bets of the round back, and the clause
    undecided: frozenset[str]  # who has yet to choose


def lay(book: RuleBook, cards: Sequence[Card], moved: AbstractSet[int] = frozenset()) -> tuple[Hands, tuple[Card, ...]]:
    """The cards by the Table of Play in the order they came, and those that this round has no use for."""
    hands = Hands()
    for ordinal, card in enumerate(cards, 1):
        if ordinal <= INITIAL_CARDS:
            belongs: Pair | None = Pair.PLAYER if ordinal % 2 else Pair.BANKER
        else:
            belongs = due(book, hands)
        if belongs is None:
            return hands, tuple(cards[ordinal - 1 :])
        hands = hands.with_card(_other(belongs) if ordinal in moved else belongs, card)
    return hands, ()


def _other(hand: Pair) -> Pair:
    return Pair.BANKER if hand is Pair.PLAYER else Pair.PLAYER


def course(
    book: RuleBook,
    cards: Sequence[Card],
    happened: Sequence[Happened],
    inquiry: Inquiry,
    layout: Layout = NO_BETS,
) -> Course:
    fold = _Fold(book, tuple(cards), tuple(happened), inquiry, layout.placed)
    for position, each in enumerate(happened):
        if each.event is not Event.INSURANCE_NEGLECTED or each.noticed_late:  # once the round is over: `neglected`
            fold.take(position, each, layout.bettors)
    return fold.course()


class _Fold:
    """A round on its way through its irregularities."""

    def __init__(
        self,
        book: RuleBook,
        cards: tuple[Card, ...],
        happened: tuple[Happened, ...],
        inquiry: Inquiry,
        placed: AbstractSet[tuple[str, str, Stage | None]] | None,
    ) -> None:
        self.book = book
        self.cards = cards
        self.happened = happened
        self.inquiry = inquiry
        self.placed = placed
        self.known = len(cards)  # how many of them have a place in the order
        self.moved: set[int] = set()  # ordinals that stay on the wrong side
        self.aside: set[int] = set()  # ordinals that serve the next round
        self.rulings: list[Ruling] = []
        self.returned: dict[str, str] = {}
        self.undecided: set[str] = set()

    def course(self) -> Course:
        hands, carried = self._lies(self.known)
        carried += tuple(card for at, card in enumerate(self.cards, 1) if at in self.aside)
        void = next((ruling for ruling in self.rulings if ruling.then is Then.VOID), None)
        if void is None:
            undecided = frozenset(self.undecided - set(self.returned))
            suspended = any(question.ask in BLOCKING for question in self.inquiry.open)
            rulings, next_due = tuple(self.rulings), due(self.book, hands)
            return Course(hands, carried, next_due, rulings, void, suspended, self.returned, undecided)
        self.inquiry.open[:] = [each for each in self.inquiry.open if each.ask in (Ask.NEXT_ROUND, Ask.SET_REPLACED)]
        return Course(hands, carried, None, tuple(self.rulings), void, False, {}, frozenset())  # noqa: FBT003

    def _lies(self, drawn: int) -> tuple[Hands, tuple[Card, ...]]:
        """How so many of the cards lie: without those set aside, and without those whose order nobody has told."""
        here = [(at, card) for at, card in enumerate(self.cards[: min(drawn, self.known)], 1) if at not in self.aside]
        moved = {place for place, (at, _) in enumerate(here, 1) if at in self.moved}
        return lay(self.book, [card for _, card in here], moved)

    def take(self, position: int, each: Happened, bettors: tuple[str, ...]) -> None:
        ruling = self._outside(position, each)
        if ruling is not None:
            self.rulings.append(ruling)
            return
        back = self._reconstructable(position, each)
        if back is None:
            asked = self.inquiry.open[-1]
            decides = asked.role if isinstance(asked.role, Role) else None
            self.rulings.append(Ruling(position, Then.ASK, asked.clause, decides, silent=not asked.clause))
            return
        row = self._row(each, back=back)
        ruling = self._followed(position, each, row, back=back)
        self.rulings.append(ruling)
        if row is not None and ruling.then is not Then.VOID and self._gives_options(each, row):
            self._ask_players(position, row, bettors, back=back)

    def _outside(self, position: int, each: Happened) -> Ruling | None:
        """What leaves this round alone: noticed too late, or while none was open, or it had all its cards."""
        if each.noticed_late:  # C 5.11
            late = row_of(self.book, Event.NOTICED_LATE, {})
            reading = "what is noticed once the next round has begun leaves this one as it is"
            return _ruling(position, late) if late else Ruling(position, Then.STANDS, "", None, True, reading)  # noqa: FBT003
        said = [row.clause for row in self.book.irregularities if row.event is each.event]
        clause = said[0] if len(said) == 1 else ""  # several rows tell apart what happens during a round
        if each.between_rounds:
            self.inquiry.choice(Question(Ask.NEXT_ROUND, position, None, clause, (Choice.GO_ON,)))
            reading = "nothing is open that could be void; the next round waits for a person"
            return Ruling(position, Then.STANDS, clause, silent=not clause, reading=reading)
        if each.event is Event.TOO_FEW_CARDS and due(self.book, self._lies(each.at)[0]) is None:
            return Ruling(position, Then.STANDS, clause, silent=not clause, reading="the round has all its cards")
        return None

    def _reconstructable(self, position: int, each: Happened) -> bool | None:
        """C 5.7: the House has absolute discretion over it. The proposal is always to put the cards back."""
        if each.reconstructable is not None:
            return each.reconstructable
        if each.event is Event.DRAWN_TOGETHER:
            return each.order_known
        if each.event not in ASKED:
            return PRESUMED.get(each.event, False)
        if self._row(each, back=True) is None and self._row(each, back=False) is None:
            return False  # nothing hangs on it: the document is silent either way
        row = next((row for row in self.book.irregularities if row.event is each.event), None)
        decides, clause = (row.decides, row.clause) if row else (None, "")
        question = Question(Ask.RECONSTRUCTABLE, position, decides, clause, YES_NO, proposed=Choice.YES)
        answer = self.inquiry.choice(question)
        return None if answer is None else answer is Choice.YES

    def _row(self, each: Happened, *, back: bool) -> Irregularity | None:
        facts = {
            Fact.RECONSTRUCTABLE: back,
            Fact.ORDER_KNOWN: each.order_known,
            Fact.INITIAL_DEAL: each.at <= INITIAL_CARDS,
            Fact.ESTABLISHED: self._established(each),
            Fact.OF_THE_DEALING: each.of_the_dealing,
        }
        miscounted = not back and self._leaves_wrong_count(each)
        row = row_of(self.book, Event.WRONG_COUNT, facts) if miscounted else None
        return row or row_of(self.book, each.event, facts) or row_of(self.book, Event.OTHER, facts)

    def _leaves_wrong_count(self, each: Happened) -> bool:
        if each.event is not Event.WRONG_SIDE:
            return each.event is Event.CARD_IN_EXCESS
        balance = 0  # two cards that changed places leave both hands with their number
        for other in self.happened:
            if other.event is Event.WRONG_SIDE:
                before, _ = lay(self.book, self.cards[: other.at - 1])
                balance += 1 if due(self.book, before) is Pair.PLAYER else -1
        return balance != 0

    def _established(self, each: Happened) -> bool:
        hands, _ = self._lies(each.noticed_at)
        stands = self.placed
        placed = (
            None if stands is None else {(bet, stage) for bettor, bet, stage in stands if bettor not in self.returned}
        )
        return established(self.book, hands, placed)

    def _followed(self, position: int, each: Happened, row: Irregularity | None, *, back: bool) -> Ruling:
        """What the book says is done, as far as it can be without a person."""
        if row is None:
            reading = "the document has no provision for this; a person decides"
            choice = self.inquiry.choice(Question(Ask.RULING, position, None, "", CONTINUE_OR_VOID))
            return Ruling(position, _ruled(choice), "", silent=True, reading=reading)
        ruling = _ruling(position, row)
        match row.then:
            case Then.ASK:
                question = Question(Ask.RULING, position, row.decides, row.clause, CONTINUE_OR_VOID)
                ruling = msgspec.structs.replace(ruling, then=_ruled(self.inquiry.choice(question)))
            case Then.ORDER_CARDS:
                self._put_in_order(position, each, row)
            case Then.RECONSTRUCT | Then.RECONSTRUCT_OR_CARRY | Then.CONTINUE:
                self._put_back(each, back=back)
            case Then.VOID | Then.STANDS | Then.RETURN_ORIGINAL:
                pass
            case _:
                assert_never(row.then)
        renewal = row_of(self.book, Event.SET_REPLACED, {})
        if each.event is Event.DRAWN_TOGETHER and not each.order_known and renewal is not None:
            self.inquiry.choice(
                Question(Ask.SET_REPLACED, position, renewal.decides, renewal.clause, YES_NO, optional=True)
            )
        return ruling

    def _put_in_order(self, position: int, each: Happened, row: Irregularity) -> None:
        first = each.at - 1
        together = self.cards[first : first + each.count]
        ordered = self.inquiry.order(Question(Ask.CARD_ORDER, position, row.decides, row.clause, cards=together))
        if ordered is None:
            self.known = min(self.known, first)
        else:
            self.cards = (*self.cards[:first], *ordered, *self.cards[first + each.count :])

    def _put_back(self, each: Happened, *, back: bool) -> None:
        first = each.at - 1
        if each.event is Event.ORDER_ALTERED and back:
            self.cards = (*self.cards[:first], *each.order, *self.cards[first + len(each.order) :])
        elif each.event is Event.WRONG_SIDE and not back:
            self.moved.add(each.at)
        elif each.event is Event.CARD_EXPOSED and not back:
            self.aside.add(each.at)

    def _gives_options(self, each: Happened, row: Irregularity) -> bool:
        match row.options:
            case Options.NEVER:
                return False
            case Options.ALWAYS:
                return True
            case Options.UNLESS_ESTABLISHED:
                return not self._established(each)
            case _:
                assert_never(row.options)

    def _ask_players(self, position: int, row: Irregularity, bettors: tuple[str, ...], *, back: bool) -> None:
        goes_on = self.book.rules[Rule.OPTION_RECONSTRUCTED if back else Rule.OPTION_CONTINUE].clause
        takes_back = self.book.rules[Rule.OPTION_RETURN].clause
        for bettor in bettors:
            if bettor in self.returned:
                continue
            question = Question(
                Ask.OPTION,
                position,
                PLAYER,
                row.options_clause,
                CONTINUE_OR_RETURN,
                (goes_on, takes_back),
                bettor=bettor,
            )
            choice = self.inquiry.choice(question)
            if choice is Choice.RETURN:
                self.returned[bettor] = takes_back
            elif choice is None:
                self.undecided.add(bettor)


def _ruling(position: int, row: Irregularity) -> Ruling:
    return Ruling(position, row.then, row.clause, row.decides, silent=not row.clause, reading=row.reading)


def _ruled(choice: Choice | None) -> Then:
    match choice:
        case Choice.VOID:
            return Then.VOID
        case Choice.CONTINUE:
            return Then.CONTINUE
        case _:
            return Then.ASK


def row_of(book: RuleBook, event: Event, facts: Mapping[Fact, bool]) -> Irregularity | None:
    """The one row of the event for which every fact is as it says."""
    for row in book.irregularities:
        if row.event is event and all(facts[fact] is wanted for fact, wanted in row.when.items()):
            return row
    return None


Policy = tuple[str, Stage, str]  # bettor, stage and insurance bet


class Neglect(msgspec.Struct, frozen=True):
    """What becomes of insurance that the dealer did not offer."""

    rulings: tuple[Ruling, ...]
    returned: Mapping[tuple[str, str], str]  # (bettor, Original Bet) -> the clause that gives it back
    undecided: frozenset[tuple[str, str]]


class Cover(msgspec.Struct, frozen=True):
    """What of the insurance matters here."""

    on: bool  # at this table
    passed: Sequence[Policy]  # what bettors could have taken and did not
    waived: Mapping[Stage, str]  # stages at which nobody could, and the clause


def neglected(book: RuleBook, course: Course, happened: Sequence[Happened], cover: Cover, inquiry: Inquiry) -> Neglect:
    """I 5.13: an Original Bet goes back if the insurance would have won and the player had meant to take it."""
    rulings: list[Ruling] = []
    answers: dict[tuple[str, str], Choice | None] = {}
    clauses: dict[tuple[str, str], str] = {}
    names = {bet.hand: bet.name for bet in book.bets if bet.hand is not None}
    for position, each in enumerate(happened):
        if each.event is not Event.INSURANCE_NEGLECTED or each.noticed_late:
            continue
        if each.stage in cover.waived:
            rulings.append(Ruling(position, Then.STANDS, cover.waived[each.stage], reading=NOT_DUE))
            continue
        would_have_won = {  # insurance -> the Original Bet
            offer.bet: names[offer.hand]
            for offer in offers(book, course.hands).get(each.stage) or ()
            if (pays := settle_offer(book, offer, course.hands)) is not None and pays.odds is not None
        }
        row = row_of(book, each.event, {Fact.INSURANCE_ON: cover.on, Fact.WOULD_HAVE_WON: bool(would_have_won)})
        entitled = [
            (bettor, would_have_won[bet])
            for bettor, stage, bet in cover.passed
            if stage is each.stage and bet in would_have_won and bettor not in course.returned
        ]
        if row is None:
            rulings.append(Ruling(position, Then.STANDS, "", silent=True))
        elif row.then is Then.RETURN_ORIGINAL and not entitled:
            rulings.append(Ruling(position, Then.STANDS, row.clause, reading=NOT_DUE))
        else:
            rulings.append(_ruling(position, row))
        if row is None or row.then is not Then.RETURN_ORIGINAL:
            continue
        for original in entitled:
            question = Question(Ask.INTENDED, position, row.decides, row.clause, YES_NO, bettor=original[0])
            answers[original], clauses[original] = inquiry.choice(question), row.clause
    return Neglect(
        tuple(rulings),
        {original: clauses[original] for original, answer in answers.items() if answer is Choice.YES},
        frozenset(original for original, answer in answers.items() if answer is None),
    )
