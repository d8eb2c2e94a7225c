"""Ten seeded faults of the engine: small changes of its source that the explorer must find.

Theory of operation: a copy of the packages in a temporary directory has one change. An explorer in another process
explores the copy until a law is broken. If the old text of a change does not occur exactly once, it is an error, and
the fault must be seeded at another line.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent.parent
COPIED: Final = ("shoed", "firmware_protocols", "tests/explore", "tests/listener.py")
DEEPEST: Final = "2"
MINUTES: Final = "5"
FOUND: Final = 1  # the status of an explorer that found a broken law
GRACE_S: Final = 60  # for an explorer that does not end by itself


class Fault(NamedTuple):
    name: str
    law: str  # the broken law
    module: str
    old: str
    new: str


FAULTS: Final = (
    Fault(
        "the sequence has gaps",
        "sequence",
        "shoed/table/context.py",
        "sequence=self.state.sequence + 1, journal=place",
        "sequence=self.state.sequence + 2, journal=place",
    ),
    Fault(
        "a question lapses without an event",
        "questions",
        "shoed/table/question_events.py",
        "table.emit(at, events.QuestionLapsed(",
        "str(events.QuestionLapsed(",
    ),
    Fault(
        "every role may answer",
        "answerable",
        "shoed/table/asking.py",
        'if not may_decide(by.role or "player", asked.role):',
        'if not may_decide(by.role or "player", asked.role) and by.name == "":',
    ),
    Fault(
        "a legal move is missing",
        "exception",
        "shoed/table/phase.py",
        "    (Phase.SUSPENDED, Move.COMPLETED): Phase.COMPLETE,\n",
        "",
    ),
    Fault(
        "a round waits without an event",
        "state",
        "shoed/table/report.py",
        "    table.emit(at, suspended)",
        "    del at",
    ),
    Fault(
        "a card is published with its position instead of its index",
        "events",
        "shoed/table/report.py",
        "index=table.record.index(card.id),",
        "index=len(hands.of(hand)),",
    ),
    Fault(
        "a consequence lacks the slot that is due",
        "consequence",
        "shoed/table/public_question.py",
        "due=due_slot(after.record, course) if is_known else None,",
        "due=None,",
    ),
    Fault(
        "a consequence hides that the round is void",
        "consequence",
        "shoed/table/public_question.py",
        "void=None if course.void is None else course.void.clause,",
        "void=None,",
    ),
    Fault(
        "a restored state differs from the saved one",
        "json",
        "shoed/table/state.py",
        "class LastCard(msgspec.Struct, frozen=True):",
        "class LastCard(msgspec.Struct, frozen=True, eq=False):",
    ),
    Fault(
        "a card that waits is lost",
        "cards",
        "shoed/table/record.py",
        "MOST_WAITING: Final = 16",
        "MOST_WAITING: Final = 0",
    ),
)


class Misplaced(Exception):
    """A fault cannot be seeded at the place of its entry."""


def seeded(fault: Fault, root: Path) -> str:
    """The source of the module with the fault."""
    text = (root / fault.module).read_text()
    if text.count(fault.old) != 1:
        raise Misplaced(
            f"{fault.name}: {fault.module} has its old text {text.count(fault.old)} times; "
            "seed the same fault at another line, in tests/explore/faults.py"
        )
    return text.replace(fault.old, fault.new)


def explored(fault: Fault, scratch: Path) -> subprocess.CompletedProcess[str]:
    """Explore a copy with the fault."""
    for name in COPIED:
        (scratch / name).parent.mkdir(exist_ok=True, parents=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, scratch / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, scratch / name)
    (scratch / fault.module).write_text(seeded(fault, ROOT))
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.explore",
            "--game",
            "commission",
            "--stop",
            "--depth",
            DEEPEST,
            "--minutes",
            MINUTES,
        ],
        cwd=scratch,
        capture_output=True,
        text=True,
        check=False,
        timeout=60 * float(MINUTES) + GRACE_S,
    )


def find_all() -> bool:
    """Whether the explorer finds every fault. It prints one line for each."""
    all_found = True
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as scratch:
            ended = explored(fault, Path(scratch))
        lines = [each.strip() for each in ended.stdout.splitlines() if each.startswith("  ")]
        found = ended.returncode == FOUND and any(each.startswith(f"{fault.law}: ") for each in lines)
        all_found = all_found and found
        print(f"{'found' if found else 'MISSED'}: {fault.name}", flush=True)
        print(f"  {lines[0] if found else ended.stdout + ended.stderr}", flush=True)
    return all_found
