"""`shoed journal verify`: verify the chain of hashes of a journal and its signed heads, and name each change."""

from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Final

from shoed.cli.journal.opening import add_journal, add_public_keys, chosen, opened, public_keys_of
from shoed.cli.options import state_dir_of
from shoed.cli.parser import Parser, path
from shoed.errors import JournalUnusable, UsageError
from shoed.journal import Reader
from shoed.journal.losses import counted, known_tables, span
from shoed.journal.schema import CHAINED
from shoed.journal.verify import Alteration, AlterationKind, Verification
from shoed.journal.verify_file import file_findings, readable
from shoed.journal.verify_heads import ENDS, LOST_INCARNATION, NOT_HEAD, PROVES_NOTHING, HeadVerification
from shoed.journal.witness import witnessed
from shoed.model.printable import printable

SHOWN: Final = 10  # changes of each table
REMEDY: Final = (
    "The journal was changed after it was written, or the disk damaged it. Keep a copy of its files as evidence.\n"
    'If a part cannot be read, follow "A damaged journal" in docs/backup.md: shoed journal salvage.\n'
    "Verify a backup, and compare the named rows in both files: shoed journal show TABLE --rows A-B"
)
LOST: Final = (
    "This journal names the loss of these rows and its reason. The lost rows may be in journal-replaced-TIME.db or\n"
    "journal-damaged-TIME.db in the state directory. All other rows are verified."
)
OLDER: Final = (
    "Rows at the end are missing: this file is an older copy, or its end was removed. All other rows are verified.\n"
    "Compare it with the journal of the daemon, and with a newer backup."
)
EARLIER_KEY: Final = (
    "A key that was not given signed these heads or cuts, before a given key. They prove nothing without this key.\n"
    "Give each earlier journal.pub, too: --key may be repeated."
)
HEADS_DAMAGED: Final = (
    "Lines of the file of heads are damaged, or it is another file. These lines prove nothing about the journal.\n"
    "A power cut can damage the last lines of heads.jsonl. Verify with the file of a witness."
)
NOTHING: Final = "Name the file of a witness of this journal, and the public key of the journal."
INCOMPLETE: Final = "A salvage wrote this journal and named these gaps. All other rows are verified."


def add_arguments(parser: Parser) -> None:
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="(default: all)")
    add_public_keys(parser)
    parser.add_argument(
        "--heads", type=path, metavar="FILE", help="compare with the signed heads in FILE, which a witness keeps"
    )
    add_journal(parser)
    parser.set_defaults(command=run)


def run(arguments: Namespace) -> int:
    keys = public_keys_of(arguments)
    if arguments.heads is not None and not arguments.heads.is_file():
        problem = "this is not a file" if arguments.heads.exists() else "there is no such file"
        raise UsageError(f"--heads {arguments.heads}: {problem}; name the file of a witness")
    return verify(state_dir_of(arguments), arguments.tables, keys, arguments.heads)


def verify(place: Path, names: Sequence[str], keys: Sequence[bytes], file: Path | None) -> int:
    """Verify each table, and print the changes. Returns the exit status."""
    conclusions = set[str]()
    with opened(place) as reader:
        require_chained(reader)
        heads = HeadVerification(reader, keys)
        known = known_tables(reader)
        # First: the verification of the rows ignores a forged cut.
        cuts = {name: list(readable(reader, name, "the cuts", heads.cuts(name))) for name in known}
        of_file = list(readable(reader, reader.path.name, "the tables beside the rows", file_findings(reader)))
        tables = present(reader, names, file, {change.table for change in of_file})
        of_tables = (
            part
            for name in tables
            for part in (
                cuts.get(name, ()),
                readable(reader, name, "the rows", verified_rows(reader, name, conclusions)),
            )
        )
        for each in chain(of_file, *of_tables, verified_heads(heads, tables, file, names)):
            print(printable(str(each)))
            conclusions |= {conclusion(each)} if isinstance(each, Alteration) else set()
    order = (REMEDY, OLDER, LOST, INCOMPLETE, EARLIER_KEY, HEADS_DAMAGED, NOTHING)
    for text in [each for each in order if each in conclusions][:1]:
        print(text)
    return int(bool(conclusions))


def verified_rows(reader: Reader, name: str, conclusions: set[str]) -> Iterator[str]:
    """The changes of the rows of a table, or what is verified. `conclusions` is completed."""
    verification = Verification(reader, name)
    for gap, reason in verification.losses.named:
        conclusions.add(INCOMPLETE)
        yield f"{name}: {gap}: {reason}"
    with closing(verification.findings()) as findings:
        others = (each for each in findings if each.kind is not AlterationKind.LOST)
        found = [str(each) for each in islice(others, SHOWN + 1)]
    conclusions |= {REMEDY} if found else set()
    yield from found[:SHOWN] if found else summary(reader, verification)
    if len(found) > SHOWN:
        yield f"{name}: more changes follow"


def conclusion(of_head: Alteration) -> str:
    texts = {LOST_INCARNATION: LOST, ENDS: OLDER, NOT_HEAD: HEADS_DAMAGED, PROVES_NOTHING: NOTHING}
    for begin, text in texts.items():
        if of_head.detail.startswith(begin):
            return text
    return {AlterationKind.LOST: INCOMPLETE, AlterationKind.UNPROVEN: EARLIER_KEY}.get(of_head.kind, REMEDY)


def require_chained(reader: Reader) -> None:
    if not reader.verified_schema():
        raise JournalUnusable(f"{reader.path}: the file is empty: it has no table; restore a backup")
    if reader.schema < CHAINED:
        raise JournalUnusable(
            f"{reader.path}: a journal of schema {reader.schema} has no hashes; the first start of this shoed adds"
            " them; until then, run: shoed journal replay --check"
        )


def present(reader: Reader, names: Sequence[str], file: Path | None, lost: Collection[str]) -> Sequence[str]:
    """The tables to verify. A named table may be known only by its remains, or by the file of the witness."""
    known, word = known_tables(reader), reader.word
    own = (head.table for head in witnessed(file) if head.journal == word) if file is not None else ()
    outside = {*lost, *own}
    found = [name for name in names if name in known or name not in outside]
    return chosen(reader, found, known) if found or not names else ()


def verified_heads(
    heads: HeadVerification, tables: Sequence[str], file: Path | None, names: Sequence[str]
) -> Iterator[Alteration | str]:
    """The changes that the signed heads prove, and the number of heads. Without names, the file is for all tables."""
    yield from readable(heads.reader, heads.reader.path.name, "the keys", heads.of_file())
    for table in tables:
        yield from readable(heads.reader, table, "the signed heads", heads.stored(table))
        last = f"the last genuine one is of row {heads.last}" if heads.last else "none of them proves a row"
        yield f"{table}: {counted(heads.compared, 'signed head')}; {last}"
        for first, end in heads.unsigned:
            yield f"{table}: not signed: {span('row', first, end)}"
        if heads.lost:
            lost = counted(heads.lost, "signed head")
            yield f"{table}: {lost} of rows that a salvage did not find, or not as they were signed"
        if heads.without_head:
            detail = f"the salvage did not find the required signed head of {counted(heads.without_head, 'row')}"
            yield Alteration(table, "signed heads", AlterationKind.LOST, detail)
    if file is not None:
        yield from readable(heads.reader, heads.reader.path.name, "the signed heads", heads.witnessed(file, names))
        yield f"{file}: compared: {counted(heads.compared, 'signed head')}"
        if heads.cut:
            yield f"{file}: not compared: {counted(heads.cut, 'signed head')} of rows that retention has deleted"
        yield from heads.notes
    if not heads.requires_heads:
        yield "The signatures were verified with the keys in the journal only; give a copy of journal.pub with --key"


def summary(reader: Reader, verification: Verification) -> Iterator[str]:
    name, tip = verification.table, verification.tip
    yield (
        f"{name}: {verification.proven_rows} and {counted(verification.events, 'event')} have their hashes;"
        f" the hash of row {tip.row} is {tip.hash.hex()}"
    )
    for anchor in reader.anchors(name):
        if anchor.reason == "seal":
            yield f"{name}: the rows up to {anchor.row} are of an earlier version; its update sealed them"
