"""Read a rule book: its words, then whether it holds together; what is wrong is told with its line.

A book uses a closed vocabulary (the enums of `book`), so that a new game is a new file and no new code.
Each entry names the clause that it comes from, and the book lists all numbered clauses of its document:
an entry with a clause that is not in the list is refused, and so is a clause of the list that no entry
cites and that does not say what the operator is asked instead.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from tests.oracle.engine_5 import settings
from tests.oracle.engine_5.cards import RANK_NAMED, RANK_TEXT, Rank
from tests.oracle.engine_5.rules import check
from tests.oracle.engine_5.rules.book import (
    OF_LIMITS,
    Act,
    Bet,
    Clause,
    Fact,
    Ground,
    Hand,
    Irregularity,
    Late,
    LateThen,
    Offer,
    Options,
    PayRow,
    Pays,
    PlaceRule,
    Play,
    Rule,
    RuleBook,
    Then,
    Winner,
    facts_of,
    thens_of,
)
from tests.oracle.engine_5.rules.standing import Board, Results, board_of
from tests.oracle.engine_5.settings import BOOLEAN, Kind, Node, Route, Sheet, Table, choice, converted, integer, listing, text
from tests.oracle.engine_5.words import Event, Role, Stage

BOOKS: Final = Path(__file__).parent / "books"
FIRST: Final = ("commission", "super-six-plus", "fortune-six", "easy-six", "tournament")  # listed in this order


def games(folder: Path) -> tuple[str, ...]:
    """The books of a folder: those that are named first, then the others by name."""
    found = {file.stem for file in folder.iterdir() if file.suffix == ".toml"}
    return (*(game for game in FIRST if game in found), *sorted(found - {*FIRST}))


GAMES: Final = games(BOOKS)

T = TypeVar("T")
Words = TypeVar("Words", Act, Event, Hand, LateThen, Options, PlaceRule, Role, Stage, Then, Winner)

ODDS: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?):([0-9]+)")
CLAUSE: Final = re.compile(r"[0-9]+(\.[0-9]+)+")
NAMED: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MOST_DECKS: Final = 10
ALWAYS: Final = frozenset(
    {
        *(Rule.FIRST_FOUR_ALTERNATE, Rule.LAST_DIGIT_COUNTS, Rule.HIGHER_POINTS_WIN, Rule.EQUAL_POINTS_TIE),
        *(Rule.BETS_OPEN_WHEN_ANNOUNCED, Rule.BETS_CLOSE_WHEN_ANNOUNCED, Rule.VOID_RETURNS_EVERY_STAKE),
    }
)
OF_INSURANCE: Final = frozenset(
    {
        *(Rule.INSURES_OWN_ORIGINAL_BET, Rule.INSURED_WHILE_OPEN, Rule.INSURED_UP_TO_ORIGINAL_BET),
        *(Rule.PASSED_IS_FORGONE, Rule.SQUEEZE_WAIVES_INSURANCE, Rule.INSURANCE_CAN_BE_SWITCHED_OFF),
    }
)
OF_OPTIONS: Final = frozenset({Rule.OPTION_CONTINUE, Rule.OPTION_RECONSTRUCTED, Rule.OPTION_RETURN})


def _words(words: Iterable[Words]) -> Kind[Words]:
    return choice({word.value: word for word in words})


def _odds(written: str) -> Pays:
    match = ODDS.fullmatch(written)
    if match is None or Fraction(match[1]) == 0 or match[2].startswith("0"):
        raise ValueError(f'{settings.shown(written)} are no odds; write for example "8:1" or "0.95:1"')
    return Pays(written, Fraction(match[1]) / int(match[2]))


def _pays(written: str) -> Pays:
    return Pays(written, None) if written in {"lose", "push"} else _odds(written)


def _distinct(kind: Kind[T]) -> Kind[frozenset[T]]:
    """A list in which nothing stands twice."""
    inner = listing(kind)

    def read(node: Node) -> frozenset[T]:
        found = inner.read(node)
        if len(set(found)) < len(found):
            raise ValueError("names something twice", "write each once")
        return frozenset(found)

    return Kind(inner.right, frozenset(), read)


def _filled(kind: Kind[frozenset[T]]) -> Kind[frozenset[T]]:
    def read(node: Node) -> frozenset[T]:
        if node.value == []:
            raise ValueError("is empty", "leave the key out, or name what it is for")
        return kind.read(node)

    return Kind(kind.right, frozenset(), read)


NUMBER: Final = text("write a clause as in 3.12.2", CLAUSE.pattern)
WORDS: Final = text("write a few words, without |", r"[^\s|]([^|\n]*[^\s|])?")  # a | would end a cell of a table
NAME: Final = text("use a to z, 0 to 9 and -", NAMED.pattern)
DECKS: Final = integer(1, MOST_DECKS)
POINTS: Final = _distinct(integer(0, check.HIGHEST))
SOME_POINTS: Final = _filled(POINTS)
SOME_CARDS: Final = _filled(_distinct(integer(2, 3)))
TOTAL: Final = integer(0, check.HIGHEST)
WORTH: Final = integer(0, 10)
SEATS: Final = integer(1, 99)
RANKS: Final = _distinct(choice({text: RANK_NAMED[text] for text in RANK_TEXT.values()}))
PAYS: Final = Kind('write "lose", "push" or odds as in "8:1"', Pays("lose", None), converted(_pays, "8:1").read)
ODDS_KIND: Final = converted(_odds, "8:1")
NUMBERS: Final = listing(NUMBER)
ACT, LATE, EVENT, THEN = _words(Act), _words(LateThen), _words(Event), _words(Then)
WINNER, HAND, STAGE, PLACE = _words(Winner), _words(Hand), _words(Stage), _words(PlaceRule)
ROLE, OPTIONS = _words(Role), _words(Options)


def also_of(*route: str | int) -> str:
    """Under which name `sources` has the further clauses of the entry at a route."""
    return f"{' '.join(map(str, route))} also"


class _Reader:
    """One book being read: what was cited so far, and where."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.root = sheet.root
        self.cited: list[tuple[str, Route, str]] = []  # clause, where it stands, and in words
        self.sources: dict[str, str] = {}

    def cite(self, table: Table, place: str, key: str = "clause") -> str:
        """The clause of an entry, and the others that say the same."""
        clause = table.require(key, NUMBER)
        self.cited.append((clause, (*table.route, key), place))
        if key == "clause":
            also = table.get("also", NUMBERS, ())
            for at, further in enumerate(also):
                self.cited.append((further, (*table.route, "also", at), place))
            if also:
                self.sources[also_of(*table.route)] = ", ".join(also)
        return clause

    def entry(self, table: Table, key: str, place: str) -> Table:
        """`key = { ..., clause = ... }`: a single entry, whose clause is kept beside the values."""
        found = table.table(key)
        self.sources[key] = self.cite(found, place)
        return found

    def book(self) -> RuleBook:
        head = self.root.table("book")
        values = self._values()
        play = self._play()
        board = board_of(play, values)
        bets = self._bets(board.results)
        insurances, offers = self._insurance(board, {bet.name for bet in bets})
        irregularities = self._irregularities()
        betting = self.entry(self.root, "betting", "betting")
        return RuleBook(
            id=head.require("id", NAME),
            letter=head.require("letter", text("write one letter", r"[A-Z]")),
            title=head.require("title", WORDS),
            document=head.require("document", WORDS),
            decks=self._decks(),
            seats=self._seats(),
            values=values,
            play=play,
            place=betting.require("together", PLACE),
            bets=bets,
            insurances=insurances,
            offers=offers,
            rules=self._rules(
                {
                    "every game needs it": ALWAYS,
                    "the insurance needs it": OF_INSURANCE if insurances else frozenset(),
                    "the options of irregularities need it": OF_OPTIONS
                    if any(row.options is not Options.NEVER for row in irregularities)
                    else frozenset(),
                },
                frozenset() if insurances else OF_INSURANCE,
            ),
            late=self._late(betting),
            irregularities=irregularities,
            clauses=self._clauses(),
            sources=self.sources,
        )

    def _decks(self) -> tuple[int, int]:
        table = self.entry(self.root, "decks", "decks")
        fewest, most = table.require("fewest", DECKS), table.require("most", DECKS)
        if fewest > most:
            table.fault("most", f"{most} is less than fewest, {fewest}", "write the larger one here")
        return fewest, most

    def _seats(self) -> Mapping[str, int] | None:
        table = self.entry(self.root, "seats", "seats")
        if table.get("any", BOOLEAN, default=False):
            return None
        layouts = table.table("layouts")
        seats = {name: layouts.require(name, SEATS) for name in layouts}
        if not seats:
            table.fault("layouts", "names no layout", "write layouts = { bean-9 = 9 }, or any = true")
        for name in seats:
            if not NAMED.fullmatch(name):
                layouts.fault(name, "is no name of a layout", NAME.right)
        return seats

    def _values(self) -> Mapping[Rank, int]:
        cards = self.root.table("cards")

        def worth(key: str) -> int:
            return self.entry(cards, key, f"cards {key}").require("points", WORTH)

        ace, ten, picture = worth("ace"), worth("ten"), worth("picture")
        self.entry(cards, "number", "cards number").require("points", choice({"face": None}))
        values = {rank: int(rank) for rank in Rank} | {Rank.ACE: ace, Rank.TEN: ten}
        values |= dict.fromkeys((Rank.JACK, Rank.QUEEN, Rank.KING), picture)
        if {value % 10 for value in values.values()} != set(check.TOTALS):
            missing = min(set(check.TOTALS) - {value % 10 for value in values.values()})
            cards.fault("ace", f"leaves no card worth {missing}", "let the cards have all values from 0 to 9")
        return values

    def _play(self) -> Play:
        draw = self.root.table("draw")

        def totals(key: str) -> frozenset[int]:
            return self.entry(draw, key, f"draw {key}").require("totals", SOME_POINTS)

        banker: dict[int, frozenset[int]] = {}
        natural = totals("natural")
        for row in draw.tables("banker", at_least=1):
            total = row.require("total", TOTAL)
            if total in banker:
                row.fault("total", f"{total} has a row already", "write one row for each total")
            if total in natural:
                row.fault("total", f"is {total}, which is a natural", "leave the row out")
            banker[total] = row.require("third", POINTS)
            self.sources[f"banker {total}"] = self.cite(row, "draw banker")
        play = Play(natural, totals("player"), totals("banker_alone"), banker)
        for key, problem, remedy in check.draws(play):
            draw.fault(key, problem, remedy)
        return play

    def _bets(self, reachable: Results) -> tuple[Bet, ...]:
        bets: dict[str, Bet] = {}
        hands: dict[Hand, str] = {}
        for table in self.root.tables("bet", at_least=1):
            bet = self._bet(table, reachable)
            if bet.name in bets:
                table.fault("name", f"{settings.shown(bet.name)} is declared twice", "write each bet once")
            if bet.hand is not None and hands.setdefault(bet.hand, bet.name) != bet.name:
                table.fault("hand", f"is the Original Bet of {hands[bet.hand]} already", "leave it out")
            bets[bet.name] = bet
        for hand in Hand:
            if hand not in hands:
                self.root.fault("bet", f"none has hand = {settings.shown(hand.value)}", "say it of its Original Bet")
        return tuple(bets.values())

    def _bet(self, table: Table, reachable: Results) -> Bet:
        name = table.require("name", NAME)
        hand, pair = table.get("hand", HAND, None), table.get("pair", HAND, None)
        if hand is not None and pair is not None:
            table.fault("pair", "and hand exclude each other", "keep one of them")
        tables = table.tables("pays", at_least=1)
        rows = tuple(self._pay_row(row, name, of_pair=pair is not None) for row in tables)
        for at, problem, remedy in check.pays(rows, reachable) if pair is None else check.pair_pays(rows):
            if at is None:
                table.fault("pays", problem, remedy)
            else:
                tables[at].fault("pays", problem, remedy)
        return Bet(name, self.cite(table, f"bet {name}"), rows, hand, pair)

    def _pay_row(self, row: Table, bet: str, *, of_pair: bool) -> PayRow:
        pays, clause = row.require("pays", PAYS), self.cite(row, f"bet {bet}")
        if of_pair:
            return PayRow(pays, clause, ranks=row.require("ranks", RANKS))
        winner = row.require("winner", WINNER)
        points = row.get("points", SOME_POINTS, frozenset[int]())
        cards = row.get("cards", SOME_CARDS, frozenset[int]())
        return PayRow(pays, clause, winner, points, cards)

    def _insurance(self, board: Board, bets: set[str]) -> tuple[Mapping[str, Hand], tuple[Offer, ...]]:
        if "insurance" not in self.root:
            return {}, ()
        table = self.entry(self.root, "insurance", "insurance")
        declared = table.table("bets")
        insurances = {name: declared.require(name, HAND) for name in declared}
        for name in insurances.keys() & bets:
            declared.fault(name, "is a bet of the game already", "give it another name")
        of = choice({name: (name, hand) for name, hand in insurances.items()} or {"": ("", Hand.PLAYER)})
        tables = table.tables("rows", at_least=1)
        offers = tuple(self._offer(row, of) for row in tables)
        for at, problem, remedy in check.offers(offers, check.open_cells(board)):
            tables[at].fault("odds", problem, remedy)
        for name in insurances.keys() - {offer.bet for offer in offers}:
            declared.fault(name, "has no row", "add one, or leave it out")
        return insurances, offers

    def _offer(self, row: Table, of: Kind[tuple[str, Hand]]) -> Offer:
        name, hand = row.require("bet", of)
        return Offer(
            bet=name,
            hand=hand,
            stage=row.require("stage", STAGE),
            player=row.require("player", SOME_POINTS),
            banker=row.require("banker", SOME_POINTS),
            odds=row.require("odds", ODDS_KIND),
            clause=self.cite(row, f"insurance {name}"),
            pays_on=row.require("pays_on", WINNER),
            tie_returned=row.require("tie_returned", BOOLEAN),
        )

    def _rules(self, needed: Mapping[str, frozenset[Rule]], senseless: frozenset[Rule]) -> Mapping[Rule, Ground]:
        table = self.root.table("rules")
        rules = {}
        for rule in Rule:
            if (ground := table.get(rule.value, self._ground(rule.value), None)) is not None:
                rules[rule] = ground
                if rule in senseless:
                    table.fault(rule.value, "needs an insurance", "leave it out, or write [insurance]")
        for reason, those in needed.items():
            for rule in sorted(those - rules.keys(), key=lambda rule: rule.value):
                table.fault(rule.value, f"is missing: {reason}", "write it with its clause")
        if rules.keys() & OF_LIMITS and (missing := OF_LIMITS - rules.keys()):
            first = min(rule.value for rule in missing)
            table.fault(first, "is missing: the limits hang together", "write it with its clause, or no limit at all")
        return rules

    def _ground(self, rule: str) -> Kind[Ground]:
        """`"3.10"`, `["3.10", "1.7"]`, or `{ reading = "..." }` where the document is silent."""
        place = f"rules {rule}"

        def read(node: Node) -> Ground:
            match node.value:
                case dict():
                    return Ground("", reading=node.sheet.table(node.route, node.value).require("reading", WORDS))
                case list([_, *_]):
                    first, *further = node.read(NUMBERS)
                    for at, clause in enumerate((first, *further)):
                        self.cited.append((clause, (*node.route, at), place))
                    return Ground(first, tuple(further))
                case _:
                    self.cited.append((clause := node.read(NUMBER), node.route, place))
                    return Ground(clause)

        return Kind('write a clause, as in "3.10", or several in [ ]', Ground(""), read)

    def _late(self, betting: Table) -> Mapping[Act, Late]:
        late: dict[Act, Late] = {}
        for row in betting.tables("late"):
            act = row.require("act", ACT)
            if act in late:
                row.fault("act", f"{act.value} has a row already", "write one row for each act")
            then = row.require("then", LATE)
            if then is not LateThen.REFUSED and (act, then) not in FITS:
                row.fault("then", f"{then.value} does not fit a late {act.value}", f"write {LateThen.REFUSED.value}")
            late[act] = Late(act, then, self.cite(row, f"betting late {act.value}"))
        for act in Act:
            if act not in late:
                betting.fault("late", f"has no row for {act.value}", "say what becomes of it")
        return late

    def _irregularities(self) -> tuple[Irregularity, ...]:
        tables = self.root.tables("irregularity", at_least=1)
        rows = tuple(self._irregularity(table) for table in tables)
        for at, problem, remedy in check.irregularities(rows):
            tables[at].fault("event", problem, remedy)
        return rows

    def _irregularity(self, table: Table) -> Irregularity:
        event, then = table.require("event", EVENT), table.require("then", THEN)
        place = f"irregularity {event.value}"
        reading = table.get("reading", WORDS, "")
        clause = "" if reading else self.cite(table, place)
        if then not in thens_of(event):
            table.fault("then", f"{then.value} does not fit {event.value}", "write what can follow from it")
        when = table.table("when")
        fitting = facts_of(event)
        facts = {fact: when.get(fact.value, BOOLEAN, None) for fact in Fact if fact in fitting}
        options = table.get("options", OPTIONS, Options.NEVER)
        options_clause = ""
        if options is not Options.NEVER:
            options_clause = self.cite(table, place, "options_clause")
        for fact in sorted(HANG_ON[options] & {fact for fact, wanted in facts.items() if wanted is not None}, key=str):
            table.fault("options", f"hang on {fact.value}, which is settled by when", "say always, or less")
        decides = table.get("decides", ROLE, None)
        if then in {Then.VOID, Then.STANDS}:
            for key in {"options", "decides"} & {*table}:
                table.fault(key, f"is of no use with {then.value}", "leave it out")
        if then in {Then.ASK, Then.ORDER_CARDS} and decides is None and not reading:
            table.fault("decides", "is missing", f"name who decides: {', '.join(role.value for role in Role)}")
        known = {fact: wanted for fact, wanted in facts.items() if wanted is not None}
        return Irregularity(event, then, clause, known, decides, options, options_clause, reading)

    def _clauses(self) -> tuple[Clause, ...]:
        """The document's own list, against what was cited; so it is read last."""
        table = self.root.table("clauses")
        places: dict[str, dict[str, None]] = {number: {} for number in table}
        for number, route, place in self.cited:
            if number in places:
                places[number][place] = None
            elif number:
                near = settings.nearest(number, places)
                remedy = f"the nearest is {near}" if near else "list it with its title"
                self.sheet.fault(route, f"clause {number} is not in [clauses]", remedy)
        clauses = []
        for number, lives in places.items():
            if not CLAUSE.fullmatch(number):
                table.fault(number, "is no clause number", NUMBER.right)
            title, operator = table.require(number, TITLE)
            if bool(lives) is bool(operator):
                problem = f"is kept by {next(iter(lives))}" if lives else "is cited by no entry"
                remedy = "give it a title alone" if lives else "write [title, why no device sees it]"
                table.fault(number, problem, remedy)
            clauses.append(Clause(number, title, "; ".join(lives), operator))
        return tuple(clauses)


HANG_ON: Final[Mapping[Options, frozenset[Fact]]] = {
    Options.NEVER: frozenset(),
    Options.ALWAYS: frozenset(),
    Options.UNLESS_ESTABLISHED: frozenset({Fact.ESTABLISHED}),
}
FITS: Final = {(Act.INCREASE, LateThen.INCREASE_REFUSED), (Act.WITHDRAWAL, LateThen.STANDS)}


def _read_title(node: Node) -> tuple[str, str]:
    match node.value:
        case [_, _]:
            title, operator = node.read(listing(WORDS))
            return title, operator
        case _:
            return node.read(WORDS), ""


TITLE: Final = Kind("write a title, or [title, why no device sees it]", ("", ""), _read_title)


def parse(file: str, data: bytes) -> RuleBook:
    return of_sheet(settings.parse(file, data))


def of_sheet(sheet: Sheet, game: str | None = None) -> RuleBook:
    """The book, which is to be of this game where one is named."""
    found = _Reader(sheet).book()
    if game is not None and found.id not in {"", game}:
        problem = f"{settings.shown(found.id)} is not the file's name, {settings.shown(game)}"
        sheet.root.table("book").fault("id", problem, "let file and id have one name")
    sheet.finish()
    return found


@cache
def book(game: str) -> RuleBook:
    file = BOOKS / f"{game}.toml"
    return of_sheet(settings.parse(str(file), file.read_bytes()), game)
