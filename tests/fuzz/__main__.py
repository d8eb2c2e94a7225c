"""`./dev fuzz [MINUTES] [TARGET ...]`: a coverage-guided fuzzer for all readers of foreign input.

Each target is a separate process, with bounded memory and a time limit for each input. It continues from its last
run: .cache/fuzz keeps its corpus, and also the inputs that break a target. Without MINUTES the run takes ten minutes,
divided equally. With `every` as the target, one process runs all targets.
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

LONGEST_INPUT: Final = 2048  # bytes: enough for many steps, and short enough for many runs
MEMORY_MB: Final = 512  # the limit of a process: its code and corpus take about 150
PATIENCE_S: Final = 10  # for one input; most inputs take a tenth of a millisecond
STARTING_S: Final = 60  # the limit until the first input
BROKEN: Final = 77  # libFuzzer's status for an input that broke the target


def fuzz(name: str) -> None:
    """Run the fuzzer with libFuzzer's own arguments; this function does not return."""
    import atheris  # noqa: PLC0415 -- only if it is installed

    with atheris.instrument_imports(include=["shoed", "firmware_protocols"]):
        from tests.fuzz.targets import TARGETS, Every  # noqa: PLC0415 -- the fuzzer instruments the import

    target = Every() if name == EVERY else TARGETS[name]
    corpus = KEPT / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *sys.argv[3:], str(corpus)], target)
    atheris.Fuzz()


def run(name: str, seconds: int) -> bool:
    """Whether the target passed for this time."""
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
        statistics = dict(line.removeprefix("stat::").split(":", 1) for line in lines if line.startswith("stat::"))
        covered = next((line.split("cov: ")[1].split()[0] for line in reversed(lines) if "cov: " in line), "?")
        print(f"{name:<22} ok: {statistics['number_of_executed_units'].strip()} inputs, {covered} branches", flush=True)
        return True
    kept = sorted(KEPT.glob(f"{name}-*"), key=lambda file: file.stat().st_mtime)
    print(f"{name:<22} BROKEN, status {status}; the input: {kept[-1] if kept else 'not kept'}")
    print("\n".join(line for line in lines[-80:] if not line.startswith(("stat::", "==", "#"))), flush=True)
    return False


def main(arguments: list[str]) -> int:
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415 -- a fuzzer instruments the import itself

    parser = argparse.ArgumentParser(prog="./dev fuzz", description="Fuzz all readers of foreign input.")
    parser.add_argument("minutes", nargs="?", type=float, default=MINUTES, help="the total time (default: %(default)g)")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}, or {EVERY}")
    asked = parser.parse_args(arguments)
    if find_spec("atheris") is None:
        print("fuzz: skipped: atheris, the fuzzer, has no wheel for this Python and processor", flush=True)
        return 0
    names = asked.targets or list(TARGETS)
    if unknown := [name for name in names if name not in (*TARGETS, EVERY)]:
        parser.error(f"{', '.join(unknown)}: this target does not exist; choose one of {', '.join((*TARGETS, EVERY))}")
    seconds = max(1, int(asked.minutes * 60 / len(names)))
    KEPT.mkdir(parents=True, exist_ok=True)
    held = [run(name, seconds) for name in names]
    return 0 if all(held) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--be"]:
        fuzz(sys.argv[2])
    sys.exit(main(sys.argv[1:]))
