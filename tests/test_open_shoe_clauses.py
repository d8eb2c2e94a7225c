"""The clauses of Open Shoe are the rules of the page: each is on the page, and each sentence of the page is in one."""

import re
from pathlib import Path
from typing import Final

from firmware_protocols import open_shoe
from firmware_protocols.open_shoe.clauses import CLAUSES
from tests.open_shoe_remarks import REMARKS, SECTIONS

TEXT: Final = Path(open_shoe.__file__).with_name("PROTOCOL.md").read_text()


def plain(text: str) -> str:
    return " ".join(text.replace("**", "").split())


def prose() -> str:
    """The sections with rules for a device, without tables, code and marks."""
    parts = re.split(r"^#+ (.*)$", TEXT, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    lines = "\n".join(found[each] for each in SECTIONS).splitlines()
    return plain("\n".join(re.sub(r"^- ", "", each) for each in lines if not each.startswith(("|", "    ", "<!--"))))


def quotes() -> list[str]:
    return [*REMARKS, *(quote for each in CLAUSES for quote in each.rule.split(" ... "))]


def test_a_clause_quotes_the_page() -> None:
    """A rule that changes on the page must change in the clauses."""
    page = plain(re.sub(r"^- ", "", TEXT, flags=re.MULTILINE))
    assert [quote for quote in quotes() if quote not in page] == []


def test_every_sentence_of_the_page_is_in_a_clause_or_is_a_remark() -> None:
    """A new rule without a clause is visible: its text is left here."""
    left = prose()
    for quote in sorted(quotes(), key=len, reverse=True):
        left = left.replace(quote, "\0")
    assert [rest for each in left.split("\0") if re.search(r"[A-Za-z]", rest := each.strip())] == []


def test_a_clause_has_its_own_name() -> None:
    """The names are unique, because a vendor reads them in the result."""
    names = [each.name for each in CLAUSES]
    assert len(names) == len(set(names))
