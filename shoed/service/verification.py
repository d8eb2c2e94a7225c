"""The verification of the record in the background, after the start of the daemon.

Theory of operation: a start verifies the rows from which play continues. A thread verifies the hashes of all rows of
each table later, from the first one; `shoed journal verify` also compares the signed heads. The thread reads a few rows
in each transaction, so that the write-ahead log does not grow, and rests after each of them: it uses SHARE of a core.
A change, or a row that cannot be read, is an error in the log, and a problem in the status. The end of the daemon ends
the thread.
"""

import logging
import threading
from collections.abc import Iterable
from itertools import chain, islice
from time import monotonic
from typing import Final

from shoed.errors import JournalError, JournalUnusable
from shoed.journal import Store
from shoed.journal.reader import MALFORMED, Reader
from shoed.journal.verify import Alteration, AlterationKind, Verification
from shoed.journal.verify_file import file_findings

PART: Final = 256  # rows of one transaction: 1 ms
SHARE: Final = 0.02  # of a core
CACHE_KB: Final = 256
MOST: Final = 10  # findings of one table; later ones are usually consequences of the first

LOG: Final = logging.getLogger("shoed.journal")


class DaemonEnds(Exception):
    """The daemon ends."""


class BackgroundVerification:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.stopping = threading.Event()
        self.worked_since = 0.0  # monotonic
        self.problem = ""  # the first change that was found
        self.thread = threading.Thread(target=self.run, name="verification", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()

    def run(self) -> None:
        try:
            with self.store.read() as reader:
                reader.connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
                self.worked_since = monotonic()
                self.verify_file(reader)
                for table in reader.tables:
                    self.verify(reader, table)
        except DaemonEnds:
            pass
        except JournalError as error:
            self.store.report(f"the verification of the journal ends: {error}")
        except Exception:  # the border of the thread
            LOG.exception("the verification of the journal ends; report this log")

    def verify_file(self, reader: Reader) -> None:
        """The schema, the dictionary, and the remains of tables without a row."""
        try:
            self.take(file_findings(reader))
        except (JournalUnusable, *MALFORMED) as error:
            self.store.report(f"a part of the journal cannot be read, and play continues: {reader.damage(error)}")

    def verify(self, reader: Reader, table: str) -> None:
        verification = Verification(reader, table, PART, self.rest)
        findings = chain(verification.row_findings(), verification.ends())
        try:
            found = self.take(findings)
        except (JournalUnusable, *MALFORMED) as error:
            place = f"{table}: the row after row {verification.tip.row}"
            self.store.report(f"{place} cannot be read, and play continues: {reader.damage(error)}")
            return
        counts = f"{verification.rows} rows and {verification.events} events"
        gaps = len(verification.losses.all)
        good = f"no change was found, except {gaps} gaps that a salvage named" if gaps else "no change was found"
        LOG.info(
            "%s: the hashes of %s were verified: %s; shoed journal verify also compares the signed heads",
            *(table, counts, "see the errors" if found else good),
        )

    def take(self, findings: Iterable[Alteration]) -> int:
        """Report the findings. Return their number."""
        found = 0
        for finding in islice((each for each in findings if each.kind is not AlterationKind.LOST), MOST):
            found += 1
            LOG.error("%s; run: shoed journal verify", finding)
            self.problem = self.problem or f"the journal was changed: {finding}"
        return found

    def rest(self) -> None:
        if self.stopping.wait((monotonic() - self.worked_since) * (1 / SHARE - 1)):
            raise DaemonEnds
        self.worked_since = monotonic()
