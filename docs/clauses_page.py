"""The page docs/clauses.md: every numbered clause of every game, with its entries, modules and tests."""

from collections.abc import Callable, Sequence
from typing import Final

from shoed.cli.rules.page import where
from shoed.rules.load import GAMES, book

INTRODUCTION: Final = """\
# Clauses of the rule documents

`docs/generate.py` writes this page from the rule books and the marks of the tests. Do not edit it: run
`./dev generate`. Each game has a section, and each numbered clause of its document has a row, titled in our words.
For a clause that the engine implements, the row names the entries of the book, their modules and their tests. For any
other clause, the row has the reason, or the part of the operator.

If an entry is removed from a book, `test_rules_clauses.test_a_clause_is_cited_by_its_entries` fails for every clause
that the entry cites. An entry may name further clauses (`also`). They repeat its own clause or define a word of it, and
have no code of their own.

Three rules are part of the code and equal in every game: `first-four-alternate`, `last-digit-counts` and
`higher-points-win`. A book names their clauses and cannot change them.
"""


def clauses_page(tests: Callable[[str], Sequence[str]]) -> str:
    """The text of `docs/clauses.md`. `tests` returns the tests that are marked with a clause such as `I 3.12.2`."""
    sections = [INTRODUCTION]
    for of in map(book, GAMES):
        lines = [
            f"## {of.title} (`{of.id}`)",
            "",
            of.document,
            "",
            "| clause | title | entries and modules -> tests, or reason |",
        ]
        lines.append("|---|---|---|")
        for clause in of.clauses:
            text = clause.reason
            if clause.entries:
                tests_text = ", ".join(f"`{test}`" for test in tests(f"{of.letter} {clause.number}"))
                text = f"{where(of, clause)} -> {tests_text}"
            lines.append(f"| {clause.number} | {clause.title} | {text} |")
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)
