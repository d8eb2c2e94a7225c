"""`shoed rules table GAME`: a whole table's round with money as one JSON document per line, and what becomes of it.

Theory of operation: a line is read into the rules' own values, taken through them in the order of a round (bets, the
close, irregularities, insurance, the settlement), and written out. `docs/rules-table.md` has every field and word.
A line that cannot be read is answered with its error; the rest is still answered.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from io import BufferedReader, BytesIO
from typing import BinaryIO, Final

import msgspec

from shoed.audit import FACES, WRONG, NoRoundError, no_card, stream
from shoed.audit_answer import Answer
from shoed.audit_given import DecisionGiven, IrregularityGiven, Switch, Table, either, idle_fields, read
from shoed.cards import Card
from shoed.rules.bets import (
    Change,
    Code,
    Note,
    Phase,
    Placed,
    Positioned,
    Refusal,
    Remark,
    act,
    admit,
    late,
    no_such_seat,
    notes_on,
    seats_of,
)
from shoed.rules.book import Act, Rule, RuleBook
from shoed.rules.house import Basis
from shoed.rules.irregular import OF_A_CARD, Course, Happened, Layout, course
from shoed.rules.limits import close
from shoed.rules.money import (
    Fate,
    Terms,
    insure,
    settle,
)
from shoed.rules.neglect import Cover, neglected
from shoed.rules.questions import Choice, Decision, Inquiry, Voice
from shoed.settings import shown
from shoed.words import PLAYER, Event, Role, Stage


class Deed(Enum):
    """What people do with bets, beside what goes wrong with the cards."""

    EARLY_BET = "early-bet"
    LATE_BET = "late-bet"
    LATE_INCREASE = "late-increase"
    LATE_WITHDRAWAL = "late-withdrawal"
    MISPLACED_BET = "misplaced-bet"
    WALKED_AWAY = "walked-away"


# The events that are answers to other events are no kinds of their own.
KINDS: Final[Mapping[str, Event | Deed]] = {
    **{event.value: event for event in Event if event not in (Event.SET_REPLACED, Event.NOTICED_LATE)},
    **{deed.value: deed for deed in Deed},
}
# After these there may be cards that the round has no use for.
LEAVES_CARDS: Final = frozenset(
    {
        Event.CARD_IN_EXCESS,
        Event.CARD_EXPOSED,
        Event.DRAWN_TOGETHER,
        Event.WRONG_COUNT,
        Event.DEALING_ERROR,
        Event.ORDER_ALTERED,
        Event.WRONG_SIDE,
        Event.OTHER,
    }
)
NONE_OF_THEM: Final = -1
STAKE_STAYS: Final = frozenset({Code.LATE_INCREASE, Code.LATE_WITHDRAWAL})  # what is refused is the change of it
MISCOUNTED: Final = frozenset({Event.FOREIGN_CARD, Event.DECK_COUNT})


class Round:
    """One line on its way through the rules."""

    def __init__(self, book: RuleBook, name: str, table: Table) -> None:
        self.book: Final = book
        self.name: Final = name
        self.table: Final = table
        self.refused: list[Refusal] = []
        self.notes: list[Note] = []
        self.left: dict[str, int] = {}  # who walked away, and after how many cards
        self.happened: list[tuple[int, Happened]] = []  # with their positions
        self.cards: Final = self._cards()
        self._read_irregularities()

    def answer(self) -> dict[str, object]:
        book, table = self.book, self.table
        layout, insurance = self._bets()
        held, too_much = close(book, layout, table.limits, noticed=table.noticed)
        self.refused += too_much
        self.notes += [note for each in held.values() for note in each.notes]

        stands = [each.placed for each in held.values()]
        inquiry, found = self._course(stands)
        insured = insure(book, insurance, found, held, self._terms())
        if table.outcome_basis is Basis.PLACED and insured.insured:  # what is insured counts too
            stands += [each.placed for each in insured.insured.values()]
            inquiry, found = self._course(stands)
        self._fault_excess(found)
        self.refused += insured.refused
        happened = [each for _, each in self.happened] if found.void is None else []
        cover = Cover(table.insurance is Switch.ON, insured.passed, insured.waived)
        neglect = neglected(book, found, happened, cover, inquiry)
        lines = settle(book, held, insured.insured, Fate(found, neglect), table.rounding)
        kinds = tuple((position, each.event) for position, each in self.happened)
        plays = {line.bet: line.placed.stake for line in lines}
        refused = [
            msgspec.structs.replace(each, largest=plays.get(each.bet)) if each.code in STAKE_STAYS else each
            for each in self.refused
        ]
        notes = [note for note in self.notes if note.bet in plays]
        return Answer(book, kinds, found, neglect, lines, refused, notes, inquiry).told()

    def _course(self, stands: Sequence[Placed]) -> tuple[Inquiry, Course]:
        index = {position: at for at, (position, _) in enumerate(self.happened)}
        inquiry = Inquiry([decision(each, index) for each in self.table.decisions])
        bettors = tuple(dict.fromkeys(bet.bettor for bet in stands))
        placed = frozenset((bet.bettor, bet.bet, bet.stage) for bet in stands)
        layout = Layout(bettors, self.left, placed if self.table.outcome_basis is Basis.PLACED else None)
        return inquiry, course(self.book, self.cards, [each for _, each in self.happened], inquiry, layout)

    def wrong(self, where: str, problem: str, remedy: str) -> NoRoundError:
        return NoRoundError("bad-line", f"{where}: {problem}; {remedy}", self.name)

    def _cards(self) -> tuple[Card, ...]:
        given = list(self.table.cards)
        kinds = [(KINDS.get(each.kind), each) for each in self.table.irregularities]
        for kind, each in kinds:
            if kind is Event.FOREIGN_CARD and not each.noticed_late and not each.between_rounds:
                at = len(given) if each.at is None else each.at
                named = all(str(card) in FACES for card in given[at - 1 : at])
                del given[len(given) if named else at - 1 :]  # what follows decides nothing any more
        try:
            cards = tuple(Card.parse(str(each)) for each in given)
        except ValueError:
            raise no_card(self.name, given) from None
        if not any(kind in MISCOUNTED for kind, _ in kinds):
            for card, times in Counter(cards).items():
                if times > self.table.decks:
                    decks = self.table.decks
                    message = (
                        f'"{card}" comes {times} times, and {decks} decks hold {decks}; '
                        "correct the card, or give the number of decks"
                    )
                    raise NoRoundError("too-many-of-a-card", message, self.name)
        return cards

    def _read_irregularities(self) -> None:
        for position, given in enumerate(self.table.irregularities):
            where = f"irregularities[{position}]"
            match KINDS.get(given.kind):
                case Event() as event:
                    self.happened.append((position, self._event(event, given, where)))
                case Deed.WALKED_AWAY:
                    if given.bettor is None:
                        raise self.wrong(f"{where}.bettor", "is missing", "write the bettor who walked away")
                    self.left[given.bettor] = given.at or 0
                case Deed():
                    placed = len(self.table.bets)
                    if given.bet is None or given.bet >= placed:
                        problem = "is missing" if given.bet is None else f"there is no bet {given.bet} among {placed}"
                        raise self.wrong(f"{where}.bet", problem, "write the position of the bet in bets, from 0")
                case None:
                    problem = f"{shown(given.kind)} is not a kind of irregularity"
                    raise self.wrong(f"{where}.kind", problem, f"write {either(KINDS)}")

    def _event(self, event: Event, given: IrregularityGiven, where: str) -> Happened:
        drawn = len(self.table.cards)
        at = drawn if given.at is None else given.at
        last = at + given.count - 1 if event is Event.DRAWN_TOGETHER else at
        if last > drawn or (event in OF_A_CARD and at < 1):
            problem = f"{given.kind} is about card {last}, and cards has {drawn}"
            raise self.wrong(f"{where}.at", problem, "write the ordinal of a card, from 1")
        try:
            order = tuple(Card.parse(each) for each in given.order)
        except ValueError:
            raise no_card(self.name, given.order, f"{where}.order") from None
        lay = self.cards[at - 1 : at - 1 + len(order)]
        if event is Event.ORDER_ALTERED and Counter(order) != Counter(lay):
            there = " ".join(card.value for card in lay)
            problem = f"these are not the cards from card {at} on, {there}"
            raise self.wrong(f"{where}.order", problem, "write the same cards in their intended order")
        return Happened(
            event,
            at,
            max(last, min(drawn, given.noticed_at or 0)),
            given.count,
            given.order_known,
            given.reconstructable,
            order,
            given.of_the_dealing,
            given.between_rounds,
            given.noticed_late,
            given.stage,
        )

    def _fault_excess(self, found: Course) -> None:
        if found.carried and found.void is None and not any(each.event in LEAVES_CARDS for _, each in self.happened):
            first = found.carried[0]
            ended = len(found.hands)
            message = f'"{first}" is not due: the round ended with its card {ended}; say what happened with it'
            raise NoRoundError("excess-card", message, self.name)

    def _bets(self) -> tuple[Positioned, Positioned]:
        """The bets that may lie on the layout, and those on insurance."""
        book, table = self.book, self.table
        bets = {position: msgspec.convert(msgspec.to_builtins(bet), Placed) for position, bet in enumerate(table.bets)}
        for given in table.irregularities:
            deed = KINDS[given.kind]
            if isinstance(deed, Deed) and given.bet is not None and given.bet in bets:
                self._deed(deed, given.bet, bets)
        insurance = {position: bet for position, bet in bets.items() if bet.bet in book.insurances}
        for position, bet in insurance.items():
            if bet.stage is None:
                remedy = f"write {either(stage.value for stage in Stage)}"
                raise self.wrong(f"bets[{position}].stage", f"is missing for {bet.bet}", remedy)
        layout = {
            position: msgspec.structs.replace(bet, stage=None)
            for position, bet in bets.items()
            if position not in insurance
        }
        try:
            seats = seats_of(book, table.layout, table.seats)
        except ValueError as error:
            raise self.wrong("layout", *str(error).split("; ")) from None
        admitted, refused = admit(book, layout, seats)
        self.refused += refused
        if seats is not None:
            nowhere = {position: bet for position, bet in insurance.items() if bet.seat > seats}
            self.refused += [no_such_seat(book, position, bet, seats) for position, bet in nowhere.items()]
            insurance = {position: bet for position, bet in insurance.items() if position not in nowhere}
        taken = {**admitted, **insurance}
        on_behalf = {position: bet for position, bet in taken.items() if bet.behalf}
        gone = {position: bet for position, bet in taken.items() if bet.bettor in self.left}
        self.notes += notes_on(book, on_behalf, Rule.PLACED_ON_BEHALF, Remark.ON_BEHALF)
        self.notes += notes_on(book, gone, Rule.WALKED_AWAY_IS_SETTLED, Remark.WALKED_AWAY)
        return admitted, insurance

    def _deed(self, deed: Deed, position: int, bets: dict[int, Placed]) -> None:
        match deed:
            case Deed.EARLY_BET:
                refusal = act(self.book, Phase.BEFORE, (), Change(position, Act.BET, bets[position]))[1]
                self.refused += [refusal] if refusal else []
                del bets[position]
            case Deed.LATE_BET:
                self.refused.append(late(self.book, Act.BET, position))
                del bets[position]
            case Deed.LATE_INCREASE:
                self.refused.append(late(self.book, Act.INCREASE, position, bets[position].stake))
            case Deed.LATE_WITHDRAWAL:
                self.refused.append(late(self.book, Act.WITHDRAWAL, position, bets[position].stake))
            case Deed.MISPLACED_BET:
                lies = {position: bets[position]}
                self.notes += notes_on(self.book, lies, Rule.BETS_LIE_AS_AT_THE_CLOSE, Remark.LIES_AS_IT_LIES)
            case Deed.WALKED_AWAY:
                pass

    def _terms(self) -> Terms:
        table = self.table
        return Terms(
            table.insurance is Switch.ON,
            table.squeeze,
            table.insurance_forgone,
            frozenset(each.stage for _, each in self.happened if each.event is Event.INSURANCE_NEGLECTED),
            self.left,
            table.limits.minimums if table.noticed else {},
        )


def decision(given: DecisionGiven, index: Mapping[int, int]) -> Decision:
    """`index`: which of the irregularities of the cards each position is."""
    choice: Choice | tuple[Card, ...] | None
    try:
        match given.choice:
            case str(word):
                choice = Choice(word)
            case cards:
                choice = tuple(map(Card.parse, cards))
    except ValueError:
        choice = None
    role: Voice | None = PLAYER if given.role == PLAYER else {each.value: each for each in Role}.get(given.role)
    about = None if given.irregularity is None else index.get(given.irregularity, NONE_OF_THEM)
    return Decision(given.question, choice, role, about, given.bettor)


class Auditor:
    """Answers lines by one rule book."""

    def __init__(self, book: RuleBook) -> None:
        self.book: Final = book
        self.idle: Final = idle_fields(book)
        self.lines = 0  # so many have come
        self.faulty = False  # some line was answered with an error

    def answer(self, line: bytes) -> str:
        try:
            self.lines += 1
            name, table = read(line, self.lines, self.idle)
            told = self._round(name, table).answer()
        except NoRoundError as error:
            self.faulty = True
            return error.told
        return f'{{"id": {name}, {json.dumps(told)[1:]}\n'

    def _round(self, name: str, table: Table) -> Round:
        fewest, most = self.book.decks
        if not fewest <= table.decks <= most:
            problem = f"{self.book.id} is not played with {table.decks} decks"
            message = f"decks: {problem}; write a whole number from {fewest} to {most}"
            raise NoRoundError("bad-line", message, name)
        return Round(self.book, name, table)


def table(book: RuleBook, source: BufferedReader | BytesIO, sink: BinaryIO) -> int:
    """Exit status 1 if any line was answered with an error."""
    auditor = Auditor(book)
    stream(auditor.answer, source, sink)
    return WRONG if auditor.faulty else 0
