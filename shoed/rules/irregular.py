"""Irregularities: what the book demands when something goes wrong, and how the round then stands.

The kinds are `book.Event`, a closed vocabulary; what each game says of a kind is rows of its book and nothing else:

    foreign-card wrong-count too-few-cards deck-count not-shuffled interruption     mostly the end of the round
    drawn-together order-altered card-in-excess card-exposed wrong-side face-up dealing-error   it may go on
    insurance-neglected                                                             see `neglect.py`
    other                                                                           nothing fits

Each is taken in the order given, on the cards in the order they left the shoe: that order, played by the Table of
Play, *is* the reconstruction (C 1.15), so `lay` says how the cards lie afterwards and which are left for the next
round. Facts that nobody gave are asked for (`questions`). A kind of which the book has no row goes to the row
`other`; where there is none the document is silent: the round waits for a person, and the ruling says so.

A card that leaves a hand with a wrong number of cards, and cannot be put back, is the book's `wrong-count`. Two cards
on the wrong sides that stay there have changed places: the round is the deal with the two exchanged.
Whether an outcome is established is reckoned from the cards that had been drawn when the error was noticed.
"""

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

import msgspec

from shoed.cards import Card
from shoed.observations import Pair
from shoed.rules.book import Fact, Irregularity, Options, Rule, RuleBook, Then
from shoed.rules.drawing import INITIAL_CARDS, Hands, due
from shoed.rules.questions import YES_NO, Ask, Choice, Inquiry, Question
from shoed.rules.results import established
from shoed.words import PLAYER, Event, Role, Stage

# Whether the cards can be put back, where nobody says it, is asked or presumed. Else nothing is put back.
PRESUMED: Final = frozenset({Event.WRONG_SIDE})  # the order in which they left the shoe is known
ASKED: Final = frozenset(
    {Event.WRONG_COUNT, Event.ORDER_ALTERED, Event.CARD_IN_EXCESS, Event.CARD_EXPOSED, Event.DEALING_ERROR}
)
OF_A_CARD: Final = frozenset(  # these are said of a card that was drawn
    {
        *(Event.CARD_IN_EXCESS, Event.CARD_EXPOSED, Event.DRAWN_TOGETHER),
        *(Event.WRONG_SIDE, Event.FACE_UP, Event.ORDER_ALTERED),
    }
)
CONTINUE_OR_RETURN: Final = (Choice.CONTINUE, Choice.RETURN)
CONTINUE_OR_VOID: Final = (Choice.CONTINUE, Choice.VOID)
BLOCKING: Final = frozenset({Ask.CARD_ORDER, Ask.RECONSTRUCTABLE, Ask.RULING})


class Happened(msgspec.Struct, frozen=True):
    """One irregularity as it was seen."""

    event: Event
    at: int = 0  # the ordinal of the card that it begins with
    noticed_at: int = 0  # how many cards had been drawn when it was noticed
    count: int = 2  # cards drawn together
    order_known: bool = False  # of these
    reconstructable: bool | None = None  # None: nobody said
    order: tuple[Card, ...] = ()  # altered and known: the cards from `at` on as they were meant to come
    of_the_dealing: bool = True  # an order was altered by dealing, not by something else
    between_rounds: bool = False  # noticed while no round was open
    noticed_late: bool = False  # noticed once the next round had begun
    stage: Stage = Stage.AFTER_FOUR  # of insurance that was not offered
    other: int = 0  # the ordinal of the card that changed places with the one at `at`
    withdrawn: bool = False  # it was taken to have happened, and did not


class Layout(msgspec.Struct, frozen=True):
    """What of the bets matters here."""

    bettors: tuple[str, ...] = ()  # who has bets, each once
    left: Mapping[str, int] = {}  # who walked away, and how many cards had been drawn
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
    carried_at: tuple[int, ...] = ()  # the ordinals of the carried cards


def lay(book: RuleBook, cards: Sequence[Card]) -> tuple[Hands, tuple[Card, ...]]:
    """The cards by the Table of Play in the order they came, and those that this round has no use for."""
    hands = Hands()
    for at, card in enumerate(cards):
        belongs = due(book, hands)
        if belongs is None:
            return hands, tuple(cards[at:])
        hands = hands.with_card(belongs, card)
    return hands, ()


def course(
    book: RuleBook,
    cards: Sequence[Card],
    happened: Sequence[Happened],
    inquiry: Inquiry,
    layout: Layout = NO_BETS,
) -> Course:
    fold = _Fold(book, tuple(cards), tuple(happened), inquiry, layout)
    for position, each in enumerate(happened):
        if each.event is not Event.INSURANCE_NEGLECTED or each.noticed_late:  # once the round is over: `neglect.py`
            fold.take(position, each)
    return fold.course()


class _Fold:
    """A round on its way through its irregularities."""

    def __init__(
        self,
        book: RuleBook,
        cards: tuple[Card, ...],
        happened: tuple[Happened, ...],
        inquiry: Inquiry,
        layout: Layout,
    ) -> None:
        self.book = book
        self.came: Final = cards
        self.cards = cards
        self.inquiry = inquiry
        self.layout: Final = layout
        self.known = len(cards)  # how many of them have a place in the order
        self.awaited: Question | None = None  # the order of the others
        self.swaps = _changed_places(book, cards, happened)  # ordinals; None: a hand has a wrong number of cards
        self.aside: set[int] = set()  # ordinals that serve the next round
        self.rulings: list[Ruling] = []
        self.returned: dict[str, str] = {}
        self.undecided: set[str] = set()

    def course(self) -> Course:
        hands, carried, carried_at = self._lies(self.known)
        void = next((ruling for ruling in self.rulings if ruling.then is Then.VOID), None)
        if void is None:
            undecided = frozenset(self.undecided - set(self.returned))
            suspended = any(question.ask in BLOCKING for question in self.inquiry.open)
            rulings, next_due = tuple(self.rulings), due(self.book, hands)
            returned = self.returned
            return Course(hands, carried, next_due, rulings, void, suspended, returned, undecided, carried_at)
        self.inquiry.open[:] = [each for each in self.inquiry.open if each.ask in (Ask.NEXT_ROUND, Ask.SET_REPLACED)]
        return Course(hands, carried, None, tuple(self.rulings), void, False, {}, frozenset(), carried_at)  # noqa: FBT003

    def _lies(self, drawn: int) -> tuple[Hands, tuple[Card, ...], tuple[int, ...]]:
        """How so many cards lie, without those whose order is open; the cards left over, and their ordinals."""
        cards = list(self.cards[: min(drawn, self.known)])
        for one, other in self.swaps or ():
            if max(one, other) <= len(cards):
                cards[one - 1], cards[other - 1] = cards[other - 1], cards[one - 1]
        here = [at for at in range(1, len(cards) + 1) if at not in self.aside]
        hands, left_over = lay(self.book, [cards[at - 1] for at in here])
        carried = sorted({*here[len(here) - len(left_over) :]} | {at for at in self.aside if at <= len(cards)})
        return hands, tuple([cards[at - 1] for at in carried]), tuple(carried)

    def take(self, position: int, each: Happened) -> None:
        ruling = self._outside(position, each)
        if ruling is not None:
            self.rulings.append(ruling)
            return
        order = self._order_awaited(each)
        if (order is not None or self._awaits_cards(each)) and self._hangs_on_the_cards(each):
            self.rulings.append(Ruling(position, Then.ASK, "") if order is None else _waiting(position, order))
            return
        back = self._reconstructable(position, each)
        if back is None:
            self.rulings.append(_waiting(position, self.inquiry.open[-1]))
            return
        row = self._row(each, back=back)
        ruling = self._followed(position, each, row, back=back)
        self.rulings.append(ruling)
        if row is not None and self._gives_options(each, row):
            left = self.layout.left
            there = [name for name in self.layout.bettors if left.get(name, each.noticed_at) >= each.noticed_at]
            self._ask_players(position, row, there, back=back)

    def _outside(self, position: int, each: Happened) -> Ruling | None:
        """What leaves this round alone: noticed too late, or while none was open, or it had all its cards."""
        if each.withdrawn:
            reading = "it did not happen: by the faces as they are, the card was the one that was due"
            return Ruling(position, Then.STANDS, "", reading=reading)
        if each.noticed_late:  # C 5.11
            late = row_of(self.book, Event.NOTICED_LATE, {})
            reading = "what is noticed once the next round has begun leaves this one as it is"
            return ruling_by(position, late) if late else Ruling(position, Then.STANDS, "", None, True, reading)  # noqa: FBT003
        clause, decides = said_of(self.book, each.event)
        if each.between_rounds and not self._counts_until_the_next(each):
            self.inquiry.choice(Question(Ask.NEXT_ROUND, position, decides, clause, (Choice.GO_ON,)))
            reading = "nothing is open that could be void; the next round waits for a person"
            silent = not any(row.clause for row in rows_of(self.book, each.event))
            return Ruling(position, Then.STANDS, clause, decides, silent=silent, reading=reading)
        completed = due(self.book, self._lies(each.noticed_at)[0]) is None
        if each.event is Event.TOO_FEW_CARDS and completed and not self._awaits_cards(each):
            return Ruling(position, Then.STANDS, clause, silent=not clause, reading="the round has all its cards")
        return None

    def _order_awaited(self, each: Happened) -> Question | None:
        """A void that hangs on cards whose order is to be told must wait: it would take the question away."""
        return self.awaited if each.noticed_at > self.known else None

    def _awaits_cards(self, each: Happened) -> bool:
        """What hangs on cards waits until all that had been drawn are known."""
        return each.noticed_at > len(self.came)

    def _hangs_on_the_cards(self, each: Happened) -> bool:
        rows = rows_of(self.book, each.event)
        on_an_outcome = any(Fact.ESTABLISHED in row.when for row in rows) and not self._established(each)
        return on_an_outcome or each.event is Event.TOO_FEW_CARDS

    def _counts_until_the_next(self, each: Happened) -> bool:
        """C 5.5.3: a wrong number of cards counts until the next round begins."""
        unsaid = each.event is Event.WRONG_COUNT and each.reconstructable is None
        return unsaid or (each.reconstructable is False and self._leaves_wrong_count(each))

    def _reconstructable(self, position: int, each: Happened) -> bool | None:
        """C 5.7: the House has absolute discretion over it. The proposal is always to put the cards back."""
        if each.reconstructable is not None:
            return each.reconstructable
        if each.event is Event.DRAWN_TOGETHER:
            return each.order_known
        if each.event not in ASKED:
            return each.event in PRESUMED
        row, other = self._row(each, back=True), self._row(each, back=False)
        if row is other and (row is None or row.then is Then.ASK):
            return False  # nothing hangs on it
        row = next(iter(rows_of(self.book, each.event)), other)
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
        match each.event:
            case Event.WRONG_SIDE:
                return self.swaps is None
            case Event.WRONG_COUNT | Event.CARD_IN_EXCESS:
                return True
            case _:
                return False

    def _established(self, each: Happened) -> bool:
        hands, _, _ = self._lies(each.noticed_at)
        stands = self.layout.placed
        placed = (
            None if stands is None else {(bet, stage) for bettor, bet, stage in stands if bettor not in self.returned}
        )
        return established(self.book, hands, placed)

    def _followed(self, position: int, each: Happened, row: Irregularity | None, *, back: bool) -> Ruling:
        """What the book says is done, as far as it can be without a person."""
        if row is None:
            reading = "the document has no provision for this; a person decides"
            then = _ruled(self.inquiry.choice(Question(Ask.RULING, position, None, "", CONTINUE_OR_VOID)))
            self._continued(each, then, back=back)
            return Ruling(position, then, "", silent=True, reading=reading)
        ruling = ruling_by(position, row)
        match row.then:
            case Then.ASK:
                question = Question(Ask.RULING, position, row.decides, row.clause, CONTINUE_OR_VOID)
                ruling = msgspec.structs.replace(ruling, then=_ruled(self.inquiry.choice(question)))
                self._continued(each, ruling.then, back=back)
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
        question = Question(Ask.CARD_ORDER, position, row.decides, row.clause, cards=together)
        ordered = self.inquiry.order(question)
        if ordered is None:
            self.known, self.awaited = min(self.known, first), question
        else:
            self.cards = (*self.cards[:first], *ordered, *self.cards[first + each.count :])

    def _continued(self, each: Happened, then: Then, *, back: bool) -> None:
        """F 5.4: an altered order voids the round only where it cannot be reconstructed: else that hand is played."""
        allowed = any(Fact.RECONSTRUCTABLE in row.when for row in rows_of(self.book, Event.ORDER_ALTERED))
        if each.event is Event.ORDER_ALTERED and then is Then.CONTINUE and allowed:
            self._put_back(each, back=back)

    def _put_back(self, each: Happened, *, back: bool) -> None:
        first = each.at - 1
        if each.event is Event.ORDER_ALTERED and back:
            came = [card for at, card in enumerate(self.came) if first <= at < first + len(each.order)]
            lay_here = self.cards[first : first + len(came)]
            self.cards = (*self.cards[:first], *_as_meant(came, each.order, lay_here), *self.cards[first + len(came) :])
        elif each.event is Event.CARD_EXPOSED and not back:
            self.aside.add(each.at)

    def _gives_options(self, each: Happened, row: Irregularity) -> bool:
        match row.options:
            case Options.NEVER:
                return False
            case Options.ALWAYS:
                return True
            case Options.UNLESS_ESTABLISHED:
                return self._order_awaited(each) is None and not self._established(each)
            case _:
                assert_never(row.options)

    def _ask_players(self, position: int, row: Irregularity, bettors: Sequence[str], *, back: bool) -> None:
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


def _changed_places(
    book: RuleBook, cards: Sequence[Card], happened: Sequence[Happened]
) -> tuple[tuple[int, int], ...] | None:
    """The cards that lie on the wrong sides for good, one of each side: exchanged. None if they do not pair."""
    sides: dict[Pair | None, list[int]] = {hand: [] for hand in (*Pair, None)}
    for each in happened:
        if each.event is Event.WRONG_SIDE and each.reconstructable is False and not each.noticed_late:
            for at in (each.at, each.other) if each.other else (each.at,):
                sides[due(book, lay(book, cards[: at - 1])[0])].append(at)
    if len(sides[Pair.PLAYER]) != len(sides[Pair.BANKER]) or sides[None]:
        return None
    return tuple(zip(sides[Pair.PLAYER], sides[Pair.BANKER], strict=True))


def _as_meant(came: Sequence[Card], meant: Sequence[Card], lie: Sequence[Card]) -> list[Card]:
    """What brings the cards that came into the order that was meant, done to those that lie there now."""
    places = list(range(len(came)))
    taken = []
    for card in meant:
        place = next(place for place in places if came[place] is card)
        places.remove(place)
        taken.append(lie[place])
    return taken


def ruling_by(position: int, row: Irregularity) -> Ruling:
    return Ruling(position, row.then, row.clause, row.decides, silent=not row.clause, reading=row.reading)


def _waiting(position: int, asked: Question) -> Ruling:
    decides = asked.role if isinstance(asked.role, Role) else None
    return Ruling(position, Then.ASK, asked.clause, decides, silent=not asked.clause)


def _ruled(choice: Choice | None) -> Then:
    match choice:
        case Choice.VOID:
            return Then.VOID
        case Choice.CONTINUE:
            return Then.CONTINUE
        case _:
            return Then.ASK


def rows_of(book: RuleBook, event: Event) -> list[Irregularity]:
    return [row for row in book.irregularities if row.event is event]


def said_of(book: RuleBook, event: Event) -> tuple[str, Role | None]:
    """The clause, and who decides, whatever else is so; several rows tell apart what happens during a round."""
    rows = rows_of(book, event)
    return (rows[0].clause, rows[0].decides) if len(rows) == 1 else ("", None)


def row_of(book: RuleBook, event: Event, facts: Mapping[Fact, bool]) -> Irregularity | None:
    """The one row of the event for which every fact is as it says."""
    for row in rows_of(book, event):
        if all(facts[fact] is wanted for fact, wanted in row.when.items()):
            return row
    return None
