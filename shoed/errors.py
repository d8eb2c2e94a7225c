"""Every error that shoed raises on purpose, and who is to act on it.

    ShoedError
      SettingsError       a file somebody wrote: every problem at once, FILE:LINE each
      UsageError          a command used wrongly: exit status 2
      DriverError         a family that no package brings, or one that cannot be used
      PortError           a device that cannot be had
        PortRefused         it could not be opened: busy, denied, another device
          PortAbsent          no device is there
          PortUnsecured       the line was lost before the device showed its key
          PortUnready         the node is new, and udev is still at work on it
        LinkLost            it was open and is gone
      CaptureError        a capture that cannot be read, FILE:LINE
      JournalError        the record
        JournalLocked       another shoed holds the state directory
        JournalUnusable     not ours, damaged, or written by a newer shoed
        CommitFailed        the disk refused a commit: nothing after it left the house
      BusError            the broker
        BrokerRefused       it said no: credentials, protocol, a denied topic
        BrokerLost          it is unreachable, silent or gone
      TellError           no daemon there to be told, or its answer was lost
      RigError            a virtual device or a demo that cannot start

The text of each says what happened, where, and what to do about it. A frame that
makes no sense is no error: it is data, a rejected frame with its reason.
"""

from typing import NamedTuple


class ShoedError(Exception):
    """The root: whatever is not one of these is a defect of ours."""


class Problem(NamedTuple):
    """One thing that is wrong in a file, and what would be right."""

    file: str
    line: int
    key: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.key}: {self.problem}; {self.remedy}"


class SettingsError(ShoedError):
    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class UsageError(ShoedError):
    pass


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


class CommitFailed(JournalError):
    pass


class BusError(ShoedError):
    pass


class BrokerRefused(BusError):
    pass


class BrokerLost(BusError):
    pass


class TellError(ShoedError):
    pass


class RigError(ShoedError):
    pass
