"""Read a rule book and verify it. Each problem is reported with its line.

A rule book uses only the words of the enums in `book`. Therefore a new game requires a new file, and no new code. Each
entry names the clause of its document, and the book lists all numbered clauses. An entry with a clause that is not in
the list is refused. A listed clause that has neither an entry nor a reason for the absence of an entry is refused.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from shoed import settings
from shoed.model.cards import RANK_NAMED, RANK_TEXT, Rank
from shoed.model.irregularities import IrregularityKind, Role, Stage
from shoed.model.observations import Pair, Side
from shoed.rules import check
from shoed.rules.book import (
    LIMIT_RULES,
    Bet,
    BetAction,
    Clause,
    CombinationRule,
    Fact,
    Ground,
    IrregularityRow,
    LateEffect,
    LateRule,
    Offer,
    Options,
    PayRow,
    Pays,
    Play,
    Rule,
    RuleBook,
    Then,
    Winner,
    facts_of,
    thens_of,
)
from shoed.rules.card_states import CardStates, Results, card_states_of
from shoed.settings import BOOLEAN, Kind, Node, Route, Sheet, TomlTable, choice, converted, integer, listing, text

BOOKS: Final = Path(__file__).parent / "books"
LISTED_FIRST: Final = ("commission", "super-six-plus", "fortune-six", "easy-six", "tournament")  # in this order


def games(folder: Path) -> tuple[str, ...]:
    """The books of a folder: those of LISTED_FIRST, then all others by name."""
    found = {file.stem for file in folder.iterdir() if file.suffix == ".toml"}
    return (*(game for game in LISTED_FIRST if game in found), *sorted(found - {*LISTED_FIRST}))


GAMES: Final = games(BOOKS)

T = TypeVar("T")
Member = TypeVar(
    "Member", BetAction, IrregularityKind, Side, Pair, LateEffect, Options, CombinationRule, Role, Stage, Then, Winner
)

ODDS: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?):([0-9]+)")
CLAUSE: Final = re.compile(r"[0-9]+(\.[0-9]+)+")
NAMED: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MOST_DECKS: Final = 10
REQUIRED_RULES: Final = frozenset(
    {
        *(Rule.FIRST_FOUR_ALTERNATE, Rule.LAST_DIGIT_COUNTS, Rule.HIGHER_POINTS_WIN, Rule.EQUAL_POINTS_TIE),
        *(Rule.BETS_OPEN_WHEN_ANNOUNCED, Rule.BETS_CLOSE_WHEN_ANNOUNCED, Rule.VOID_RETURNS_EVERY_STAKE),
    }
)
INSURANCE_RULES: Final = frozenset(
    {
        *(Rule.INSURES_OWN_ORIGINAL_BET, Rule.INSURED_WHILE_OPEN, Rule.INSURED_UP_TO_ORIGINAL_BET),
        *(Rule.PASSED_IS_FORGONE, Rule.SQUEEZE_WAIVES_INSURANCE, Rule.INSURANCE_CAN_BE_SWITCHED_OFF),
    }
)
OPTION_RULES: Final = frozenset({Rule.OPTION_CONTINUE, Rule.OPTION_RECONSTRUCTED, Rule.OPTION_RETURN})


def _enum(members: Iterable[Member]) -> Kind[Member]:
    return choice({member.value: member for member in members})


def _odds(written: str) -> Pays:
    match = ODDS.fullmatch(written)
    if match is None or Fraction(match[1]) == 0 or match[2].startswith("0"):
        raise ValueError(f'{settings.shown(written)} is not odds; write for example "8:1" or "0.95:1"')
    return Pays(written, Fraction(match[1]) / int(match[2]))


def _pays(written: str) -> Pays:
    return Pays(written, None) if written in {"lose", "push"} else _odds(written)


def _distinct(kind: Kind[T]) -> Kind[frozenset[T]]:
    """A list without duplicates."""
    inner = listing(kind)

    def read(node: Node) -> frozenset[T]:
        found = inner.read(node)
        if len(set(found)) < len(found):
            raise ValueError("has a duplicate", "write each value once")
        return frozenset(found)

    return Kind(inner.right, frozenset(), read)


def _not_empty(kind: Kind[frozenset[T]]) -> Kind[frozenset[T]]:
    def read(node: Node) -> frozenset[T]:
        if node.value == []:
            raise ValueError("is empty", "remove the key, or write its values")
        return kind.read(node)

    return Kind(kind.right, frozenset(), read)


NUMBER: Final = text("write a clause as in 3.12.2", CLAUSE.pattern)
WORDS: Final = text("write a few words, without |", r"[^\s|]([^|\n]*[^\s|])?")  # a | ends a cell in Markdown
NAME: Final = text("use a to z, 0 to 9 and -", NAMED.pattern)
DECKS: Final = integer(1, MOST_DECKS)
POINTS: Final = _distinct(integer(0, check.HIGHEST))
SOME_POINTS: Final = _not_empty(POINTS)
SOME_CARDS: Final = _not_empty(_distinct(integer(2, 3)))
TOTAL: Final = integer(0, check.HIGHEST)
WORTH: Final = integer(0, 10)
SEATS: Final = integer(1, 99)
RANKS: Final = _distinct(choice({text: RANK_NAMED[text] for text in RANK_TEXT.values()}))
PAYS: Final = Kind('write "lose", "push" or odds as in "8:1"', Pays("lose", None), converted(_pays, "8:1").read)
ODDS_KIND: Final = converted(_odds, "8:1")
NUMBERS: Final = listing(NUMBER)
ACT, LATE, KIND, THEN = _enum(BetAction), _enum(LateEffect), _enum(IrregularityKind), _enum(Then)
WINNER, SIDE, PAIR, STAGE, COMBINATION = (
    _enum(Winner),
    _enum(Side),
    _enum(Pair),
    _enum(Stage),
    _enum(CombinationRule),
)
ROLE, OPTIONS = _enum(Role), _enum(Options)


def also_key(*route: str | int) -> str:
    """The key in `sources` of the further clauses of the entry at a route."""
    return f"{' '.join(map(str, route))} also"


class _Reader:
    """The reader of one book. The reader collects the cited clauses with their places."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.root = sheet.root
        self.cited: list[tuple[str, Route, str]] = []  # clause, route in the file, name of the entry
        self.sources: dict[str, str] = {}

    def cite(self, table: TomlTable, place: str, key: str = "clause") -> str:
        """Record the clause of an entry and the further clauses of the entry. Return the clause."""
        clause = table.require(key, NUMBER)
        self.cited.append((clause, (*table.route, key), place))
        if key == "clause":
            also = table.get("also", NUMBERS, ())
            for at, further in enumerate(also):
                self.cited.append((further, (*table.route, "also", at), place))
            if also:
                self.sources[also_key(*table.route)] = ", ".join(also)
        return clause

    def entry(self, table: TomlTable, key: str, place: str) -> TomlTable:
        """`key = { ..., clause = ... }`: a single entry; `sources` keeps its clause."""
        found = table.table(key)
        self.sources[key] = self.cite(found, place)
        return found

    def book(self) -> RuleBook:
        head = self.root.table("book")
        values = self._values()
        play = self._play()
        states = card_states_of(play, values)
        bets = self._bets(states.results)
        insurances, offers = self._insurance(states, {bet.name for bet in bets})
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
            combination=betting.require("together", COMBINATION),
            bets=bets,
            insurances=insurances,
            offers=offers,
            rules=self._rules(
                {
                    "every game requires it": REQUIRED_RULES,
                    "the insurance requires it": INSURANCE_RULES if insurances else frozenset(),
                    "the options of irregularities require it": OPTION_RULES
                    if any(row.options is not Options.NEVER for row in irregularities)
                    else frozenset(),
                },
                frozenset() if insurances else INSURANCE_RULES,
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
            table.fault("most", f"{most} is less than fewest, {fewest}", "write at least the minimum")
        return fewest, most

    def _seats(self) -> Mapping[str, int] | None:
        table = self.entry(self.root, "seats", "seats")
        if table.get("any", BOOLEAN, default=False):
            return None
        layouts = table.table("layouts")
        seats = {name: layouts.require(name, SEATS) for name in layouts}
        if not seats:
            table.fault("layouts", "is empty", "write layouts = { bean-9 = 9 }, or any = true")
        for name in seats:
            if not NAMED.fullmatch(name):
                layouts.fault(name, "is not a valid name of a layout", NAME.right)
        return seats

    def _values(self) -> Mapping[Rank, int]:
        cards = self.root.table("cards")

        def points(key: str) -> int:
            return self.entry(cards, key, f"cards {key}").require("points", WORTH)

        ace, ten, picture = points("ace"), points("ten"), points("picture")
        self.entry(cards, "number", "cards number").require("points", choice({"face": None}))
        values = {rank: int(rank) for rank in Rank} | {Rank.ACE: ace, Rank.TEN: ten}
        values |= dict.fromkeys((Rank.JACK, Rank.QUEEN, Rank.KING), picture)
        if {value % 10 for value in values.values()} != set(check.TOTALS):
            missing = min(set(check.TOTALS) - {value % 10 for value in values.values()})
            cards.fault("ace", f"no card has the value {missing}", "write points so that all values 0 to 9 occur")
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
                row.fault("total", f"{total} has two rows", "remove one row")
            if total in natural:
                row.fault("total", f"{total} is a natural", "remove the row")
            banker[total] = row.require("third", POINTS)
            self.sources[f"banker {total}"] = self.cite(row, "draw banker")
        play = Play(natural, totals("player"), totals("banker_alone"), banker)
        for key, problem, remedy in check.draws(play):
            draw.fault(key, problem, remedy)
        return play

    def _bets(self, reachable: Results) -> tuple[Bet, ...]:
        bets: dict[str, Bet] = {}
        originals: dict[Side, str] = {}
        for table in self.root.tables("bet", at_least=1):
            bet = self._bet(table, reachable)
            if bet.name in bets:
                table.fault("name", f"{settings.shown(bet.name)} is the name of another bet", "write each bet once")
            if bet.side is not None and originals.setdefault(bet.side, bet.name) != bet.name:
                table.fault("hand", f"{originals[bet.side]} is the Original Bet on this hand", "remove the key")
            bets[bet.name] = bet
        for side in Side:
            if side not in originals:
                problem = f"no bet has hand = {settings.shown(side.value)}"
                self.root.fault("bet", problem, "write it in the Original Bet on this hand")
        return tuple(bets.values())

    def _bet(self, table: TomlTable, reachable: Results) -> Bet:
        name = table.require("name", NAME)
        side, pair = table.get("hand", SIDE, None), table.get("pair", PAIR, None)
        if side is not None and pair is not None:
            table.fault("pair", "pair and hand exclude each other", "remove one of them")
        tables = table.tables("pays", at_least=1)
        rows = tuple(self._pay_row(row, name, of_pair=pair is not None) for row in tables)
        for at, problem, remedy in check.pays(rows, reachable) if pair is None else check.pair_pays(rows):
            if at is None:
                table.fault("pays", problem, remedy)
            else:
                tables[at].fault("pays", problem, remedy)
        return Bet(name, self.cite(table, f"bet {name}"), rows, side, pair)

    def _pay_row(self, row: TomlTable, bet: str, *, of_pair: bool) -> PayRow:
        pays, clause = row.require("pays", PAYS), self.cite(row, f"bet {bet}")
        if of_pair:
            return PayRow(pays, clause, ranks=row.require("ranks", RANKS))
        winner = row.require("winner", WINNER)
        points = row.get("points", SOME_POINTS, frozenset[int]())
        cards = row.get("cards", SOME_CARDS, frozenset[int]())
        return PayRow(pays, clause, winner, points, cards)

    def _insurance(self, states: CardStates, bets: set[str]) -> tuple[Mapping[str, Side], tuple[Offer, ...]]:
        if "insurance" not in self.root:
            return {}, ()
        table = self.entry(self.root, "insurance", "insurance")
        declared = table.table("bets")
        insurances = {name: declared.require(name, SIDE) for name in declared}
        for name in insurances.keys() & bets:
            declared.fault(name, "is the name of another bet", "write another name")
        bet_kind = choice({name: (name, side) for name, side in insurances.items()} or {"": ("", Side.PLAYER)})
        tables = table.tables("rows", at_least=1)
        offers = tuple(self._offer(row, bet_kind) for row in tables)
        for at, problem, remedy in check.offers(offers, check.open_cells(states)):
            tables[at].fault("odds", problem, remedy)
        for name in insurances.keys() - {offer.bet for offer in offers}:
            declared.fault(name, "has no row", "add a row, or remove the bet")
        return insurances, offers

    def _offer(self, row: TomlTable, bet_kind: Kind[tuple[str, Side]]) -> Offer:
        name, side = row.require("bet", bet_kind)
        return Offer(
            bet=name,
            side=side,
            stage=row.require("stage", STAGE),
            player=row.require("player", SOME_POINTS),
            banker=row.require("banker", SOME_POINTS),
            odds=row.require("odds", ODDS_KIND),
            clause=self.cite(row, f"insurance {name}"),
            pays_on=row.require("pays_on", WINNER),
            tie_returned=row.require("tie_returned", BOOLEAN),
        )

    def _rules(self, needed: Mapping[str, frozenset[Rule]], excluded: frozenset[Rule]) -> Mapping[Rule, Ground]:
        table = self.root.table("rules")
        rules = {}
        for rule in Rule:
            if (ground := table.get(rule.value, self._ground(rule.value), None)) is not None:
                rules[rule] = ground
                if rule in excluded:
                    table.fault(rule.value, "requires insurance", "remove the rule, or write [insurance]")
        for reason, those in needed.items():
            for rule in sorted(those - rules.keys(), key=lambda rule: rule.value):
                table.fault(rule.value, f"is missing: {reason}", "write the rule with its clause")
        if rules.keys() & LIMIT_RULES and (missing := LIMIT_RULES - rules.keys()):
            first = min(rule.value for rule in missing)
            table.fault(first, "is missing: a book has all rules of limits or none", "write the rule with its clause")
        return rules

    def _ground(self, rule: str) -> Kind[Ground]:
        """`"3.10"`, `["3.10", "1.7"]`, or `{ reading = "..." }` if the document has no clause."""
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

    def _late(self, betting: TomlTable) -> Mapping[BetAction, LateRule]:
        late: dict[BetAction, LateRule] = {}
        for row in betting.tables("late"):
            act = row.require("act", ACT)
            if act in late:
                row.fault("act", f"{act.value} has two rows", "remove one row")
            then = row.require("then", LATE)
            if then is not LateEffect.REFUSED and (act, then) not in LATE_EFFECTS:
                row.fault("then", f"{then.value} does not fit a late {act.value}", f"write {LateEffect.REFUSED.value}")
            late[act] = LateRule(act, then, self.cite(row, f"betting late {act.value}"))
        for act in BetAction:
            if act not in late:
                betting.fault("late", f"has no row for {act.value}", f'write {{ act = "{act.value}", ... }}')
        return late

    def _irregularities(self) -> tuple[IrregularityRow, ...]:
        tables = self.root.tables("irregularity", at_least=1)
        rows = tuple(self._irregularity(table) for table in tables)
        for at, problem, remedy in check.irregularities(rows):
            tables[at].fault("event", problem, remedy)
        return rows

    def _irregularity(self, table: TomlTable) -> IrregularityRow:
        kind, then = table.require("event", KIND), table.require("then", THEN)
        place = f"irregularity {kind.value}"
        reading = table.get("reading", WORDS, "")
        clause = "" if reading else self.cite(table, place)
        if then not in thens_of(kind):
            fitting_thens = ", ".join(sorted(each.value for each in thens_of(kind)))
            table.fault("then", f"{then.value} does not fit {kind.value}", f"write one of {fitting_thens}")
        when = table.table("when")
        fitting = facts_of(kind)
        facts = {fact: when.get(fact.value, BOOLEAN, None) for fact in Fact if fact in fitting}
        options = table.get("options", OPTIONS, Options.NEVER)
        options_clause = ""
        if options is not Options.NEVER:
            options_clause = self.cite(table, place, "options_clause")
        for fact in sorted(
            FACTS_OF_OPTIONS[options] & {fact for fact, wanted in facts.items() if wanted is not None}, key=str
        ):
            table.fault(
                "options", f"depends on {fact.value}, and when has {fact.value} too", "write always, or remove it"
            )
        decides = table.get("decides", ROLE, None)
        if then in {Then.VOID, Then.STANDS}:
            for key in {"options", "decides"} & {*table}:
                table.fault(key, f"has no effect with {then.value}", "remove the key")
        if then in {Then.ASK, Then.ORDER_CARDS} and decides is None and not reading:
            table.fault("decides", "is missing", f"write a role: {', '.join(role.value for role in Role)}")
        known = {fact: wanted for fact, wanted in facts.items() if wanted is not None}
        return IrregularityRow(kind, then, clause, known, decides, options, options_clause, reading)

    def _clauses(self) -> tuple[Clause, ...]:
        """Read the list of the document's clauses last, and compare the list with the cited clauses."""
        table = self.root.table("clauses")
        places: dict[str, dict[str, None]] = {number: {} for number in table}
        for number, route, place in self.cited:
            if number in places:
                places[number][place] = None
            elif number:
                near = settings.nearest(number, places)
                remedy = f"the nearest is {near}" if near else "add it there with its title"
                self.sheet.fault(route, f"clause {number} is not in [clauses]", remedy)
        clauses = []
        for number, entries in places.items():
            if not CLAUSE.fullmatch(number):
                table.fault(number, "is not a clause number", NUMBER.right)
            title, reason = table.require(number, TITLE)
            if bool(entries) is bool(reason):
                problem = f"has a reason, and {next(iter(entries))} cites it" if entries else "is cited by no entry"
                remedy = "write the title alone" if entries else "write [title, why no entry cites it]"
                table.fault(number, problem, remedy)
            clauses.append(Clause(number, title, "; ".join(entries), reason))
        return tuple(clauses)


FACTS_OF_OPTIONS: Final[Mapping[Options, frozenset[Fact]]] = {
    Options.NEVER: frozenset(),
    Options.ALWAYS: frozenset(),
    Options.UNLESS_ESTABLISHED: frozenset({Fact.ESTABLISHED}),
}
LATE_EFFECTS: Final = {(BetAction.INCREASE, LateEffect.INCREASE_REFUSED), (BetAction.WITHDRAWAL, LateEffect.STANDS)}


def _read_title(node: Node) -> tuple[str, str]:
    match node.value:
        case [_, _]:
            title, reason = node.read(listing(WORDS))
            return title, reason
        case _:
            return node.read(WORDS), ""


TITLE: Final = Kind("write a title, or [title, why no entry cites it]", ("", ""), _read_title)


def parse(file: str, data: bytes) -> RuleBook:
    return from_sheet(settings.parse(file, data))


def from_sheet(sheet: Sheet, game: str | None = None) -> RuleBook:
    """The book. If a game is given, the book's id must be its name."""
    found = _Reader(sheet).book()
    if game is not None and found.id not in {"", game}:
        problem = f"{settings.shown(found.id)} differs from the file's name, {settings.shown(game)}"
        sheet.root.table("book").fault("id", problem, "write the file's name")
    sheet.finish()
    return found


@cache
def book(game: str) -> RuleBook:
    file = BOOKS / f"{game}.toml"
    return from_sheet(settings.parse(str(file), file.read_bytes()), game)
