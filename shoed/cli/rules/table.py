"""`shoed rules table GAME`: rounds of a whole table with money as JSON lines in, their settlements out.

Theory of operation: a line is converted to values of the rules. The rules process them in the order of a round: bets,
the close, irregularities, insurance, settlement. `docs/rules-table.md` documents every field and word. A line that
cannot be read is answered with an error; the next lines are still answered.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from io import BufferedReader, BytesIO
from typing import BinaryIO, Final

import msgspec

from shoed.cli import ExitStatus
from shoed.cli.rules.settle import FACES, LineError, bad_card, stream
from shoed.cli.rules.table_input import (
    DecisionInput,
    IrregularityInput,
    Switch,
    TableInput,
    either,
    ignored_fields,
    read,
)
from shoed.cli.rules.table_output import RoundAnswer
from shoed.model.cards import Card
from shoed.model.irregularities import PLAYER, IrregularityKind, Role, Stage
from shoed.rules.bets import (
    BetNote,
    BetRefusal,
    BetRemark,
    BetsByPosition,
    BettingPhase,
    Change,
    PlacedBet,
    RefusalCode,
    admit,
    apply_change,
    no_such_seat,
    notes_on,
    refuse_late,
    seats_of,
)
from shoed.rules.book import BetAction, Rule, RuleBook
from shoed.rules.house_rules import OutcomeBasis
from shoed.rules.irregular import ABOUT_A_CARD, Course, Irregularity, RoundBets, course
from shoed.rules.limits import close
from shoed.rules.money import InsuranceTerms, RoundRulings, insure, settle
from shoed.rules.neglected_insurance import InsuranceState, neglected
from shoed.rules.questions import Choice, Decider, Decision, Inquiry
from shoed.settings import shown
from shoed.typed_json import typed


class BetIrregularityKind(Enum):
    """The irregularities of bets. `IrregularityKind` has those of cards."""

    EARLY_BET = "early-bet"
    LATE_BET = "late-bet"
    LATE_INCREASE = "late-increase"
    LATE_WITHDRAWAL = "late-withdrawal"
    MISPLACED_BET = "misplaced-bet"
    WALKED_AWAY = "walked-away"


# Without the two kinds that only follow from another irregularity.
KINDS: Final[Mapping[str, IrregularityKind | BetIrregularityKind]] = {
    **{
        kind.value: kind
        for kind in IrregularityKind
        if kind not in (IrregularityKind.SET_REPLACED, IrregularityKind.NOTICED_LATE)
    },
    **{action.value: action for action in BetIrregularityKind},
}
# After these kinds the round may have more cards than are due.
LEAVES_CARDS: Final = frozenset(
    {
        IrregularityKind.CARD_IN_EXCESS,
        IrregularityKind.CARD_EXPOSED,
        IrregularityKind.DRAWN_TOGETHER,
        IrregularityKind.WRONG_COUNT,
        IrregularityKind.DEALING_ERROR,
        IrregularityKind.ORDER_ALTERED,
        IrregularityKind.WRONG_SIDE,
        IrregularityKind.OTHER,
    }
)
NO_POSITION: Final = -1
STAKE_STAYS: Final = frozenset({RefusalCode.LATE_INCREASE, RefusalCode.LATE_WITHDRAWAL})  # a change is refused
MISCOUNTED: Final = frozenset({IrregularityKind.FOREIGN_CARD, IrregularityKind.DECK_COUNT})


class Round:
    """The round of one line."""

    def __init__(self, book: RuleBook, id_json: str, table: TableInput) -> None:
        self.book: Final = book
        self.id_json: Final = id_json
        self.table: Final = table
        self.refused: list[BetRefusal] = []
        self.notes: list[BetNote] = []
        self.left: dict[str, int] = {}  # bettors who walked away, each with the number of cards drawn before
        self.irregularities: list[tuple[int, Irregularity]] = []  # with their positions
        self.cards: Final = self._cards()
        self._read_irregularities()

    def answer(self) -> dict[str, object]:
        book, table = self.book, self.table
        layout, insurance = self._bets()
        at_close, excess = close(book, layout, table.limits, noticed=table.noticed)
        self.refused += excess
        self.notes += [note for each in at_close.values() for note in each.notes]

        counted = [each.placed for each in at_close.values()]
        inquiry, result = self._course(counted)
        insured = insure(book, insurance, result, at_close, self._terms())
        if table.outcome_basis is OutcomeBasis.PLACED and insured.insured:  # placed insurance counts too
            counted += [each.placed for each in insured.insured.values()]
            inquiry, result = self._course(counted)
        self._refuse_excess(result)
        self.refused += insured.refused
        irregularities = [each for _, each in self.irregularities] if result.void is None else []
        cover = InsuranceState(table.insurance is Switch.ON, insured.passed, insured.waived)
        neglect = neglected(book, result, irregularities, cover, inquiry)
        lines = settle(book, at_close, insured.insured, RoundRulings(result, neglect), table.rounding)
        kinds = tuple((position, each.kind) for position, each in self.irregularities)
        plays = {line.bet: line.placed.stake for line in lines}
        refused = [
            msgspec.structs.replace(each, largest=plays.get(each.bet)) if each.code in STAKE_STAYS else each
            for each in self.refused
        ]
        notes = [note for note in self.notes if note.bet in plays]
        return RoundAnswer(book, kinds, result, neglect, lines, refused, notes, inquiry).answer()

    def _course(self, counted: Sequence[PlacedBet]) -> tuple[Inquiry, Course]:
        index = {position: at for at, (position, _) in enumerate(self.irregularities)}
        inquiry = Inquiry([decision(each, index) for each in self.table.decisions])
        bettors = tuple(dict.fromkeys(bet.bettor for bet in counted))
        placed = frozenset((bet.bettor, bet.bet, bet.stage) for bet in counted)
        layout = RoundBets(bettors, self.left, placed if self.table.outcome_basis is OutcomeBasis.PLACED else None)
        return inquiry, course(self.book, self.cards, [each for _, each in self.irregularities], inquiry, layout)

    def line_error(self, where: str, problem: str, remedy: str) -> LineError:
        return LineError("bad-line", f"{where}: {problem}; {remedy}", self.id_json)

    def _cards(self) -> tuple[Card, ...]:
        given = list(self.table.cards)
        kinds = [(KINDS.get(each.kind), each) for each in self.table.irregularities]
        for kind, each in kinds:
            if kind is IrregularityKind.FOREIGN_CARD and not each.noticed_late and not each.between_rounds:
                at = len(given) if each.at is None else each.at
                named = all(str(card) in FACES for card in given[at - 1 : at])
                del given[len(given) if named else at - 1 :]  # the round is void: later cards have no effect
        try:
            cards = tuple(Card.parse(str(each)) for each in given)
        except ValueError:
            raise bad_card(self.id_json, given) from None
        if not any(kind in MISCOUNTED for kind, _ in kinds):
            for card, times in Counter(cards).items():
                if times > self.table.decks:
                    decks = self.table.decks
                    message = (
                        f'"{card}" occurs {times} times, and {decks} decks contain it {decks} times; '
                        "correct the card or the number of decks"
                    )
                    raise LineError("too-many-of-a-card", message, self.id_json)
        return cards

    def _read_irregularities(self) -> None:
        for position, given in enumerate(self.table.irregularities):
            where = f"irregularities[{position}]"
            match KINDS.get(given.kind):
                case IrregularityKind() as kind:
                    self.irregularities.append((position, self._irregularity(kind, given, where)))
                case BetIrregularityKind.WALKED_AWAY:
                    if given.bettor is None:
                        raise self.line_error(f"{where}.bettor", "is missing", "write the bettor who walked away")
                    self.left[given.bettor] = given.at or 0
                case BetIrregularityKind():
                    placed = len(self.table.bets)
                    if given.bet is None or given.bet >= placed:
                        problem = "is missing" if given.bet is None else f"{given.bet} is not a position in bets"
                        raise self.line_error(f"{where}.bet", problem, "write the position of the bet in bets, from 0")
                case None:
                    problem = f"{shown(given.kind)} is not a kind of irregularity"
                    raise self.line_error(f"{where}.kind", problem, f"write {either(KINDS)}")

    def _irregularity(self, kind: IrregularityKind, given: IrregularityInput, where: str) -> Irregularity:
        drawn = len(self.table.cards)
        at = drawn if given.at is None else given.at
        last = at + given.count - 1 if kind is IrregularityKind.DRAWN_TOGETHER else at
        if last > drawn or (kind in ABOUT_A_CARD and at < 1):
            problem = f"{given.kind} names card {last}, and the number of cards is {drawn}"
            raise self.line_error(f"{where}.at", problem, "write the ordinal of a card, from 1")
        try:
            order = tuple(Card.parse(each) for each in given.order)
        except ValueError:
            raise bad_card(self.id_json, given.order, f"{where}.order") from None
        cards_there = self.cards[at - 1 : at - 1 + len(order)]
        if kind is IrregularityKind.ORDER_ALTERED and Counter(order) != Counter(cards_there):
            there = " ".join(card.value for card in cards_there)
            problem = f"the cards from card {at} on are {there}"
            raise self.line_error(f"{where}.order", problem, "write the same cards in their intended order")
        return Irregularity(
            kind,
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

    def _refuse_excess(self, result: Course) -> None:
        if (
            result.carried
            and result.void is None
            and not any(each.kind in LEAVES_CARDS for _, each in self.irregularities)
        ):
            first = result.carried[0]
            ended = len(result.hands)
            message = f'"{first}" is not due: the round ended with its card {ended}; remove it or add its irregularity'
            raise LineError("excess-card", message, self.id_json)

    def _bets(self) -> tuple[BetsByPosition, BetsByPosition]:
        """The accepted bets on the layout, and the insurance bets."""
        book, table = self.book, self.table
        bets = {position: typed(msgspec.to_builtins(bet), PlacedBet) for position, bet in enumerate(table.bets)}
        for given in table.irregularities:
            action = KINDS[given.kind]
            if isinstance(action, BetIrregularityKind) and given.bet is not None and given.bet in bets:
                self._apply_bet_irregularity(action, given.bet, bets)
        insurance = {position: bet for position, bet in bets.items() if bet.bet in book.insurances}
        for position, bet in insurance.items():
            if bet.stage is None:
                remedy = f"write {either(stage.value for stage in Stage)}"
                raise self.line_error(f"bets[{position}].stage", f"is missing for {bet.bet}", remedy)
        layout = {
            position: msgspec.structs.replace(bet, stage=None)
            for position, bet in bets.items()
            if position not in insurance
        }
        try:
            seats = seats_of(book, table.layout, table.seats)
        except ValueError as error:
            raise self.line_error("layout", *str(error).split("; ")) from None
        admitted, refused = admit(book, layout, seats)
        self.refused += refused
        if seats is not None:
            nowhere = {position: bet for position, bet in insurance.items() if bet.seat > seats}
            self.refused += [no_such_seat(book, position, bet, seats) for position, bet in nowhere.items()]
            insurance = {position: bet for position, bet in insurance.items() if position not in nowhere}
        taken = {**admitted, **insurance}
        on_behalf = {position: bet for position, bet in taken.items() if bet.behalf}
        left = {position: bet for position, bet in taken.items() if bet.bettor in self.left}
        self.notes += notes_on(book, on_behalf, Rule.PLACED_ON_BEHALF, BetRemark.ON_BEHALF)
        self.notes += notes_on(book, left, Rule.WALKED_AWAY_IS_SETTLED, BetRemark.WALKED_AWAY)
        return admitted, insurance

    def _apply_bet_irregularity(self, action: BetIrregularityKind, position: int, bets: dict[int, PlacedBet]) -> None:
        match action:
            case BetIrregularityKind.EARLY_BET:
                refusal = apply_change(
                    self.book, BettingPhase.BEFORE, (), Change(position, BetAction.BET, bets[position])
                )[1]
                self.refused += [refusal] if refusal else []
                del bets[position]
            case BetIrregularityKind.LATE_BET:
                self.refused.append(refuse_late(self.book, BetAction.BET, position))
                del bets[position]
            case BetIrregularityKind.LATE_INCREASE:
                self.refused.append(refuse_late(self.book, BetAction.INCREASE, position, bets[position].stake))
            case BetIrregularityKind.LATE_WITHDRAWAL:
                self.refused.append(refuse_late(self.book, BetAction.WITHDRAWAL, position, bets[position].stake))
            case BetIrregularityKind.MISPLACED_BET:
                bet = {position: bets[position]}
                self.notes += notes_on(self.book, bet, Rule.BETS_LIE_AS_AT_THE_CLOSE, BetRemark.LIES_AS_IT_LIES)
            case BetIrregularityKind.WALKED_AWAY:
                pass

    def _terms(self) -> InsuranceTerms:
        table = self.table
        return InsuranceTerms(
            table.insurance is Switch.ON,
            table.squeeze,
            table.insurance_forgone,
            frozenset(
                each.stage for _, each in self.irregularities if each.kind is IrregularityKind.INSURANCE_NEGLECTED
            ),
            self.left,
            table.limits.minimums if table.noticed else {},
        )


def decision(given: DecisionInput, index: Mapping[int, int]) -> Decision:
    """`index`: the number of each irregularity of cards, by its position in the input."""
    choice: Choice | tuple[Card, ...] | None
    try:
        match given.choice:
            case str(word):
                choice = Choice(word)
            case cards:
                choice = tuple(map(Card.parse, cards))
    except ValueError:
        choice = None
    role: Decider | None = PLAYER if given.role == PLAYER else {each.value: each for each in Role}.get(given.role)
    about = None if given.irregularity is None else index.get(given.irregularity, NO_POSITION)
    return Decision(given.question, choice, role, about, given.bettor)


class TableSettler:
    """Answers lines, by one rule book."""

    def __init__(self, book: RuleBook) -> None:
        self.book: Final = book
        self.ignored: Final = ignored_fields(book)
        self.lines = 0  # received
        self.faulty = False  # a line was answered with an error

    def answer(self, line: bytes) -> str:
        try:
            self.lines += 1
            id_json, table = read(line, self.lines, self.ignored)
            answer = self._round(id_json, table).answer()
        except LineError as error:
            self.faulty = True
            return error.answer
        return f'{{"id": {id_json}, {json.dumps(answer)[1:]}\n'

    def _round(self, id_json: str, table: TableInput) -> Round:
        fewest, most = self.book.decks
        if not fewest <= table.decks <= most:
            problem = f"{self.book.id} is not played with {table.decks} decks"
            message = f"decks: {problem}; write a whole number from {fewest} to {most}"
            raise LineError("bad-line", message, id_json)
        return Round(self.book, id_json, table)


def table(book: RuleBook, source: BufferedReader | BytesIO, sink: BinaryIO) -> int:
    """Answer all lines. The exit status is 1 if a line was answered with an error."""
    settler = TableSettler(book)
    stream(settler.answer, source, sink)
    return ExitStatus.WRONG if settler.faulty else ExitStatus.GOOD
