"""Every error that shoed raises. The type of an error names the cause.

    ShoedError
      SettingsError       a file that a person writes: all its problems, each with FILE:LINE
      UsageError          a command used wrongly: exit status 2
      NoSuchTable         a table that the daemon, the configuration or the journal does not have
      DriverError         a device family that no package has, or that cannot be used
      PortError           a device that cannot be used
        PortRefused         the port was not opened: busy, denied, another device
          PortAbsent          the device does not exist
          PortUnsecured       the line was lost before the device proved its key
          PortUnready         the node is new, and udev still changes it
        LinkLost            an open link ended
      CaptureError        a capture that cannot be read, FILE:LINE
      JournalError        the journal
        JournalLocked       another shoed holds the state directory
        JournalUnusable     another format, or written by a newer shoed
        JournalReplaced     the open file was deleted or replaced
        CommitFailed        a commit failed: the table has stopped, and nothing after the commit was sent
        TableUnrecorded     no later commit of the table can succeed: the table has ended
          StepRefused         a Step that cannot be recorded, a defect
          JournalDamaged      the file cannot be read: the daemon sets it aside; a JournalUnusable, too
            RowAltered          a row, an event or a checkpoint differs from its hash
        WitnessError        the file of a witness of signed heads
      BusError            the broker
        BrokerRefused       the broker refused: credentials, protocol, a denied topic
        BrokerLost          the broker is unreachable, silent, or closed the connection
      TellError           the command socket: its answer was lost
        NotRunning          no daemon runs: exit status 3
        AnswerRefused       the daemon refused a query
      BundleError         an archive for support that cannot be written
      RigError            a virtual device or a demo that cannot start

The text of each error has three parts: what is wrong, where, and what to do. An invalid frame is not an error: it is
data, a rejected frame with its reason.
"""

from collections.abc import Iterable
from typing import NamedTuple


class ShoedError(Exception):
    """The base. An exception of another type is a defect of shoed."""


class Problem(NamedTuple):
    """One problem of a file, and its remedy. `line`: None for a file without content."""

    file: str
    line: int | None
    key: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}: {self.key}"
        return f"{place}: {self.problem}; {self.remedy}"


class SettingsError(ShoedError):
    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class UsageError(ShoedError):
    pass


class NoSuchTable(ShoedError):
    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"{name}: no such table; known: {', '.join(known)}")


class DriverError(ShoedError):
    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class PortError(ShoedError):
    pass


class PortRefused(PortError):
    pass


class PortAbsent(PortRefused):
    pass


class PortUnsecured(PortRefused):
    pass


class PortUnready(PortRefused):
    pass


class LinkLost(PortError):
    pass


class CaptureError(ShoedError):
    pass


class JournalError(ShoedError):
    pass


class JournalLocked(JournalError):
    pass


class JournalUnusable(JournalError):
    pass


class JournalReplaced(JournalError):
    pass


class CommitFailed(JournalError):
    pass


class TableUnrecorded(JournalError):
    pass


class StepRefused(TableUnrecorded):
    pass


class JournalDamaged(JournalUnusable, TableUnrecorded):
    pass


class RowAltered(JournalDamaged):
    pass


class WitnessError(JournalError):
    pass


class BusError(ShoedError):
    pass


class BrokerRefused(BusError):
    pass


class BrokerLost(BusError):
    pass


class TellError(ShoedError):
    pass


class NotRunning(TellError):
    pass


class AnswerRefused(TellError):
    pass


class BundleError(ShoedError):
    pass


class RigError(ShoedError):
    pass


def cause(error: BaseException) -> str:
    """The first leaf of a group of errors, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
