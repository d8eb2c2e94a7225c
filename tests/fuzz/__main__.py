"""`./dev fuzz [MINUTES] [TARGET ...]`: a coverage-guided fuzzer over all that reads what others wrote.

Each target is a process of its own, with bounded memory and time for each input, and goes on where its last
run ended: what it has learned is kept in .cache/fuzz. What breaks a target is kept there, too, and named.
Without MINUTES it is ten, shared out evenly. With `every` for a target, one process tries them all.
"""

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
KEPT: Final = ROOT / ".cache" / "fuzz"
MINUTES: Final = 10.0
EVERY: Final = "every"

LONGEST_INPUT: Final = 2048  # bytes: room for many steps, and short enough to be tried often
MEMORY_MB: Final = 512  # of a process: some 150 are its code and what it has learned
PATIENCE_S: Final = 10  # for one input, of which most take a tenth of a millisecond
STARTING_S: Final = 60  # until the first input, at most
BROKEN: Final = 77  # libFuzzer's status for an input that broke the target


def fuzz(name: str) -> None:
    """Be the fuzzer, as libFuzzer's own arguments say; does not return."""
    import atheris  # noqa: PLC0415 -- only where it is there

    with atheris.instrument_imports(include=["shoed", "firmware_protocols"]):
        from tests.fuzz.targets import TARGETS, Every  # noqa: PLC0415 -- to be seen being imported

    target = Every() if name == EVERY else TARGETS[name]
    corpus = KEPT / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *sys.argv[3:], str(corpus)], target)
    atheris.Fuzz()


def run(name: str, seconds: int) -> bool:
    """Whether the target held for so long."""
    log = KEPT / f"{name}.log"
    limits = (f"-max_len={LONGEST_INPUT}", f"-rss_limit_mb={MEMORY_MB}", f"-timeout={PATIENCE_S}")
    how = (f"-max_total_time={seconds}", f"-artifact_prefix={KEPT / name}-", "-print_final_stats=1", *limits)
    with log.open("wb") as output:
        status = subprocess.run(
            [sys.executable, "-m", "tests.fuzz", "--be", name, *how],
            cwd=ROOT,
            stdout=output,
            stderr=output,
            check=False,
            timeout=seconds + STARTING_S + PATIENCE_S,
        ).returncode
    lines = log.read_text(errors="replace").splitlines()
    if status == 0:
        said = dict(line.removeprefix("stat::").split(":", 1) for line in lines if line.startswith("stat::"))
        covered = next((line.split("cov: ")[1].split()[0] for line in reversed(lines) if "cov: " in line), "?")
        print(f"{name:<22} ok: {said['number_of_executed_units'].strip()} inputs, {covered} branches", flush=True)
        return True
    kept = sorted(KEPT.glob(f"{name}-*"), key=lambda file: file.stat().st_mtime)
    print(f"{name:<22} BROKEN, status {status}; what broke it: {kept[-1] if kept else 'not kept'}")
    print("\n".join(line for line in lines[-80:] if not line.startswith(("stat::", "==", "#"))), flush=True)
    return False


def main(arguments: list[str]) -> int:
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415 -- a fuzzer imports it under its own eyes

    parser = argparse.ArgumentParser(prog="./dev fuzz", description="Fuzz all that reads what others wrote.")
    parser.add_argument("minutes", nargs="?", type=float, default=MINUTES, help="in all (default: %(default)g)")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}, or {EVERY}")
    asked = parser.parse_args(arguments)
    if find_spec("atheris") is None:
        print("fuzz: skipped: atheris, the fuzzer, has no wheel for this Python and processor", flush=True)
        return 0
    names = asked.targets or list(TARGETS)
    if unknown := [name for name in names if name not in (*TARGETS, EVERY)]:
        parser.error(f"{', '.join(unknown)}: no such target; known: {', '.join((*TARGETS, EVERY))}")
    seconds = max(1, int(asked.minutes * 60 / len(names)))
    KEPT.mkdir(parents=True, exist_ok=True)
    held = [run(name, seconds) for name in names]
    return 0 if all(held) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--be"]:
        fuzz(sys.argv[2])
    sys.exit(main(sys.argv[1:]))
