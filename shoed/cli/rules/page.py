"""Rule books as text: `shoed rules list`, `show` and `clauses`, and the page `docs/clauses.md`.

A book is printed with the clause of every entry, so that a reader can compare it with the document.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from shoed.model.cards import RANK_TEXT, Rank
from shoed.model.irregularities import Stage
from shoed.rules.book import Bet, Clause, CombinationRule, Fact, IrregularityRow, Options, PayRow, Rule, RuleBook
from shoed.rules.load import GAMES, also_key, book

# The module that implements an entry of a book, by the first word of the entry. OF_RULES has those of named rules.
MODULES: Final[Mapping[str, str]] = {
    "decks": "cli/rules/settle",
    "seats": "rules/bets",
    "cards": "rules/drawing",
    "draw": "rules/drawing",
    "betting": "rules/bets",
    "bet": "rules/results",
    "insurance": "rules/insurance",
    "irregularity": "rules/irregular",
}
OF_RULES: Final[Mapping[str, AbstractSet[Rule]]] = {
    "rules/drawing": {Rule.FIRST_FOUR_ALTERNATE, Rule.LAST_DIGIT_COUNTS, Rule.HIGHER_POINTS_WIN, Rule.EQUAL_POINTS_TIE},
    "rules/bets": {Rule.BETS_OPEN_WHEN_ANNOUNCED, Rule.BETS_CLOSE_WHEN_ANNOUNCED},
    "cli/rules/table": {Rule.BETS_LIE_AS_AT_THE_CLOSE, Rule.PLACED_ON_BEHALF, Rule.WALKED_AWAY_IS_SETTLED},
    "rules/money": {
        *(Rule.VOID_RETURNS_EVERY_STAKE, Rule.INSURED_UP_TO_ORIGINAL_BET, Rule.INSURES_OWN_ORIGINAL_BET),
        *(Rule.PASSED_IS_FORGONE, Rule.SQUEEZE_WAIVES_INSURANCE, Rule.INSURANCE_CAN_BE_SWITCHED_OFF),
    },
    "rules/insurance": {Rule.INSURED_WHILE_OPEN},
    "rules/limits": {
        *(Rule.MINIMUM, Rule.DIFFERENTIAL, Rule.BALANCE_OPEN_TO_OTHERS, Rule.EXCESS_REFUSED, Rule.SEATED_FIRST),
        *(Rule.EXCESS_PRO_RATED, Rule.PRO_RATA_STOPS_AT_MINIMUM, Rule.UNDER_MINIMUM_NOT_PRO_RATED),
        *(Rule.UNDER_MINIMUM_RAISED_OR_WITHDRAWN, Rule.UNDER_MINIMUM_PLAYS),
    },
    "rules/irregular": {Rule.OPTION_CONTINUE, Rule.OPTION_RECONSTRUCTED, Rule.OPTION_RETURN},
}
MODULE_OF_RULE: Final = {rule.value: module for module, rules in OF_RULES.items() for rule in rules}


def listed() -> str:
    """`shoed rules list`."""
    rows = [(each.id, each.title, each.document) for each in map(book, GAMES)]
    return "\n".join(_columns(rows))


def clauses(of: RuleBook) -> str:
    """`shoed rules clauses`: every numbered clause, its title, and its entries or its reason."""
    rows = [(clause.number, clause.title, clause.entries or clause.reason) for clause in of.clauses]
    return "\n".join(_columns(rows))


def show(of: RuleBook) -> str:
    """`shoed rules show`: the whole book on one page."""
    sections: Mapping[str, Iterable[str]] = {
        f"{of.title} ({of.letter})": [of.document, *_table(of)],
        "Table of Play": _play(of),
        "Bets": _bets(of),
        "Pays": _pays(of),
        "Insurance": _insurance(of),
        "Changes after the close of the bets": _late(of),
        "Named rules": _rules(of),
        "Irregularities": _irregularities(of),
        "Clauses": _numbers(of.clauses),
    }
    filled = {title: list(lines) for title, lines in sections.items()}
    return "\n\n".join("\n".join((title, "=" * len(title), *lines)) for title, lines in filled.items() if lines)


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    return [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1])) for row in rows
    ]


def _table(of: RuleBook) -> Iterator[str]:
    sources = of.sources
    yield f"decks      {of.decks[0]} to {of.decks[1]}  ({_cited(of, sources['decks'], 'decks')})"
    seats = "any number" if of.seats is None else ", ".join(f"{name}: {count}" for name, count in of.seats.items())
    yield f"seats      {seats}  ({_cited(of, sources['seats'], 'seats')})"
    values = {
        "ace": f"ace {of.values[Rank.ACE]}",
        "number": "2 to 9 face value",
        "ten": f"ten {of.values[Rank.TEN]}",
        "picture": f"picture cards {of.values[Rank.KING]}",
    }
    cards = [f"{text} ({_cited(of, sources[key], 'cards', key)})" for key, text in values.items()]
    yield f"cards      {', '.join(cards)}"
    together = {
        CombinationRule.ANY: "any combination of bets",
        CombinationRule.ONE_HAND: "one of Player and Banker; side bets only together with it",
    }
    yield f"together   {together[of.combination]}  ({_cited(of, sources['betting'], 'betting')})"


def _cited(of: RuleBook, clause: str, *route: str | int) -> str:
    """The clause and the further clauses of the entry at a route in the file."""
    also = of.sources.get(also_key(*route))
    return f"{clause}, {also}" if also else clause


def _numbers_of(numbers: AbstractSet[int]) -> str:
    """`0-5`, `0-7 9`, or `none`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "none"


def _play(of: RuleBook) -> list[str]:
    play, sources = of.play, of.sources
    rows = [
        *(
            (text, _numbers_of(totals), _cited(of, sources[key], "draw", key))
            for text, totals, key in (
                ("neither hand draws if one has", play.natural, "natural"),
                ("Player draws on", play.player, "player"),
                ("if Player stands, Banker draws on", play.banker_alone, "banker_alone"),
            )
        ),
        *(
            (
                f"Banker on {total} draws if Player's third card is",
                _numbers_of(third),
                _cited(of, sources[f"banker {total}"], "draw", "banker", at),
            )
            for at, (total, third) in enumerate(play.banker.items())
        ),
    ]
    return _columns(rows)


def _bets(of: RuleBook) -> list[str]:
    return _columns([(bet.name, _stands_on(bet), _cited(of, bet.clause, "bet", at)) for at, bet in enumerate(of.bets)])


def _stands_on(bet: Bet) -> str:
    if bet.side is not None:
        return f"Original Bet on {bet.side.value}"
    return "on the result" if bet.pair is None else f"on the first two cards of {bet.pair.value}"


def _pays(of: RuleBook) -> list[str]:
    return _columns(
        [
            (bet.name, _result(bet, row), row.pays.text, _cited(of, row.clause, "bet", at, "pays", nth))
            for at, bet in enumerate(of.bets)
            for nth, row in enumerate(bet.rows)
        ]
    )


def _result(bet: Bet, row: PayRow) -> str:
    if row.winner is None:
        if not row.ranks:
            return "no pair"
        ranks = "any" if len(row.ranks) == len(Rank) else " ".join(RANK_TEXT[rank] for rank in sorted(row.ranks))
        return f"{bet.pair.value if bet.pair else ''} pair of {ranks}"
    points = f" on {_numbers_of(row.points)}" if row.points else ""
    cards = f" with {_numbers_of(row.cards)} cards" if row.cards else ""
    return f"{row.winner.value}{points}{cards}"


def _insurance(of: RuleBook) -> list[str]:
    bets = [
        (name, f"insures {hand.value}", _cited(of, of.sources["insurance"], "insurance"))
        for name, hand in of.insurances.items()
    ]
    return _columns(bets) + _columns(
        [
            (
                stage.value,
                offer.bet,
                f"Player {_numbers_of(offer.player)}",
                f"Banker {_numbers_of(offer.banker)}",
                offer.odds.text,
                f"if {offer.pays_on.value}",
                "returned on a tie" if offer.tie_returned else "",
                _cited(of, offer.clause, "insurance", "rows", at),
            )
            for stage in Stage
            for at, offer in enumerate(of.offers)
            if offer.stage is stage
        ]
    )


def _late(of: RuleBook) -> list[str]:
    return _columns(
        [
            (late.action.value, late.then.value, _cited(of, late.clause, "betting", "late", at))
            for at, late in enumerate(of.late.values())
        ]
    )


def _rules(of: RuleBook) -> list[str]:
    return _columns(
        [
            (
                rule.value,
                ", ".join((ground.clause, *ground.also)) if ground.clause else f"our interpretation: {ground.reading}",
            )
            for rule, ground in of.rules.items()
        ]
    )


def _irregularities(of: RuleBook) -> list[str]:
    return _columns(
        [
            (
                *(row.kind.value, _when(row.when), row.then.value, _decides(row)),
                _cited(of, row.clause, "irregularity", at) if row.clause else f"our interpretation: {row.reading}",
            )
            for at, row in enumerate(of.irregularities)
        ]
    )


def _when(when: Mapping[Fact, bool]) -> str:
    return ", ".join(fact.value if wanted else f"not {fact.value}" for fact, wanted in when.items())


def _decides(row: IrregularityRow) -> str:
    text = [f"{row.decides.value} or above"] if row.decides is not None else []
    if row.options is not Options.NEVER:
        text.append(f"options {row.options.value} ({row.options_clause})")
    return ", ".join(text)


def _numbers(those: Sequence[Clause]) -> list[str]:
    return _columns([(clause.number, clause.title) for clause in those])


def where(of: RuleBook, clause: Clause) -> str:
    """The entries of the book that cite a clause, and the modules that implement them."""
    entries = clause.entries.split("; ")
    modules = dict.fromkeys(f"shoed/{module_of(entry)}.py" for entry in entries)
    return f"`{of.id}.toml`: {', '.join(entries)}; {', '.join(f'`{module}`' for module in modules)}"


def module_of(entry: str) -> str:
    first, _, rest = entry.partition(" ")
    return MODULE_OF_RULE[rest] if first == "rules" else MODULES[first]
