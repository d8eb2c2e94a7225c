"""Work with the rights of another user: in a child process that gives up the rights of root.

The rights of a user are tried, not computed from modes: access lists, folders above a file and read-only file systems
count, too.
"""

import grp
import os
import pwd
import sys
import traceback
from collections.abc import Callable
from typing import Final, Never

import msgspec

from shoed.errors import UsageError

# As in systemd/shoed.service.
UNIT_USER: Final = "shoed"
UNIT_GROUPS: Final = ("dialout",)


class User(msgspec.Struct, frozen=True):
    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    @property
    def is_present(self) -> bool:
        return self.uid == os.geteuid()


def user_named(name: str) -> User | None:
    """The user, with its groups; the user of the unit also has the groups of the unit."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    added = [each.gr_gid for each in grp.getgrall() if name == UNIT_USER and each.gr_name in UNIT_GROUPS]
    groups = dict.fromkeys([*os.getgrouplist(name, entry.pw_gid), *added])
    return User(name, entry.pw_uid, entry.pw_gid, tuple(groups))


def chosen_user(name: str | None) -> User | None:
    """The user of `--as`, or of the unit if root runs the command; None: the present user."""
    if name is None:
        return user_named(UNIT_USER) if os.geteuid() == 0 else None
    user = user_named(name)
    if user is None:
        raise UsageError(f"--as {name}: this machine does not have this user; write the user of the service")
    if not user.is_present and os.geteuid() != 0:
        raise UsageError(f"--as {name}: only root can try the rights of another user; run the command with sudo")
    return user


def as_user(user: User, work: Callable[[], bytes]) -> bytes:
    """The result of the work. Import everything that the work needs before the call: the user may not read our code."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _work_and_exit(user, work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as results:
        result = results.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise UsageError(f"--as {user.name}: the trial failed; report the error above")
    return result


def _work_and_exit(user: User, work: Callable[[], bytes], writer: int) -> Never:
    status = 1
    try:
        if not user.is_present:
            os.setgroups(user.groups)
            os.setresgid(user.gid, user.gid, user.gid)
            os.setresuid(user.uid, user.uid, user.uid)
        with os.fdopen(writer, "wb") as results:
            results.write(work())
        status = 0
    except BaseException:  # noqa: BLE001 -- the child must not continue as the command
        traceback.print_exc()
    finally:
        os._exit(status)  # without the exit handlers and the output buffers of the parent
