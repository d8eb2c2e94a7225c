"""The page docs/questions.md agrees with the questions that the daemon asks."""

import re
from functools import cache
from typing import Final

from docs.questions_page import Source, page, sources
from shoed.model.irregularities import PLAYER, Role
from shoed.rules.load import GAMES, book
from shoed.rules.questions import Ask
from shoed.table.asking import RecordAsk
from shoed.table.wording import DECIDED_BY, INTERPRETATIONS
from tests.shown import questions

ASKS: Final = {each.value: each for each in (*Ask, *RecordAsk)}
OF_THE_RECORD: Final = {"all", "overdraw", "all other reports"}  # rows for questions without an irregularity


def test_the_page_has_the_required_role_and_the_ground_of_each_question() -> None:
    """Only `next-round` may require a higher role than the page: the role of the author of the notice."""
    compared = set()
    for written, asked in questions():
        ask, role = ASKS[asked.question], asked.role
        kinds = {asked.kind} if asked.kind else OF_THE_RECORD
        rows = {found for game in written.game for kind, found in rows_of(ask, game) if kind in kinds}
        ground = asked.clause or asked.ground
        assert ground in {clause for clause, _ in rows}, written.name
        if ask is not Ask.NEXT_ROUND:
            needed = DECIDED_BY[role if role in (None, PLAYER) else Role(role)]
            assert (ground, needed) in rows, written.name
        compared.add(ask)
    assert compared == {*ASKS.values()}


@cache
def rows_of(ask: Ask | RecordAsk, game: str) -> tuple[tuple[str, Source], ...]:
    """The rows of the page before equal rows are joined."""
    return tuple(sources(ask, book(game), [each for each in questions() if each.question.question == ask.value]))


def test_a_ruling_of_a_silent_document_requires_a_pit_supervisor() -> None:
    """The daemon demands the role of the command `void`."""
    silent = [row for row in page().splitlines() if "our interpretation 1 applies" in row and row.startswith("|")]
    assert silent
    assert all("The pit supervisor or a higher role decides." in row for row in silent)


def test_each_cited_interpretation_is_on_the_page() -> None:
    """The numbers of the table are the numbers of the code, and each entry of a book without a clause has a row."""
    text = page()
    cited = {int(number) for number in re.findall(r"our interpretation (\d+) applies", text)}
    section = text.split("\n## Our interpretations\n")[1]
    printed = {int(number) for number in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}
    assert cited <= printed == set(INTERPRETATIONS)
    for of in map(book, GAMES):
        texts = [each.reading for each in of.rules.values() if not each.clause]
        texts += [each.reading for each in of.irregularities if not each.clause]
        assert all(f"| {text} |" in section for text in texts)
