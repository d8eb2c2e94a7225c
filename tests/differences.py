"""The engine of shoed compared with its oracle, step by step.

Theory of operation: the sessions are seeded sessions, the scenarios and the golden captures. Both engines get the same
inputs. After each step the parts that are visible outside the daemon are compared as JSON. A predicate passes a
difference that is intended; any other difference is reported and ends its session. An answer is a choice of the
question of the engine of shoed, and both engines get this answer. If one engine published more events in a step that
passed, the later numbers of events and questions are compared by their order.

    python -m tests.differences --sessions 2000 [--first SEED] [--jobs N] [--trace]

The run ends with status 1 if a difference is not intended, or if a predicate was never used.
"""

import argparse
import difflib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from shoed.engine import ENGINE
from shoed.model.commands import Author, Decide
from shoed.model.moments import Now
from shoed.model.observations import AnyObservation, DeviceStatus, DoubtEnded, DoubtRaised, ShuffleEnded, ShuffleStarted
from shoed.model.step import AnyInput, Commanded, Configured, Step, Woken
from shoed.ports.capture import Header
from shoed.rig import golden
from tests import reworded, scenario, scenario_table, sessions
from tests.intended import PREDICATES, Difference, Predicate, Verdict
from tests.oracle_engines import ORACLE, OURS, EngineRun, Output, Settings, Taken, differing, value
from tests.renumbering import Renumbering
from tests.sessions import Restart, Session
from tests.trouble import AnswerStep, DeviceStep, PersonStep, deciding

START: Final = Now(1_700_000_000_000_000, 50_000_000_000)
MOST_ANSWERS: Final = 400
MOST_LINES: Final = 14  # of one part, in a report
LONGEST: Final = 220  # characters of one value, in a report
REPORTED: Final = 40  # kinds of differences, each once
TRACED: Final = 12  # steps before a difference


class Outcome(msgspec.Struct, frozen=True):
    """The result of a session."""

    name: str
    steps: int
    used: Mapping[str, int] = {}
    found: Difference | None = None  # the difference that no predicate explains
    trace: tuple[str, ...] = ()
    reworded: int = 0  # steps with a text that was reworded after the oracle was frozen


# ---------------------------------------------------------------------------------------------- one session


class Ended(Exception):  # a signal, and not an error
    """The session ends: a difference was found, a predicate ended the session, or both engines raised an exception."""


class Comparison:
    """One table with both engines."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        predicates: Mapping[str, Predicate] = PREDICATES,
        oracle: type[EngineRun] = EngineRun,
        reworded_texts: reworded.Pairs = reworded.PAIRS,
    ) -> None:
        self.name = name
        self.settings = settings
        self.ours, self.oracle = EngineRun(OURS, settings), oracle(ORACLE, settings)
        self.predicates = predicates
        self.numbers = Renumbering(settings.table.id_prefix)
        self.now = START
        self.number = 0
        self.used: Counter[str] = Counter()
        self.reworded_texts = reworded_texts
        self.reworded = 0
        self.found: Difference | None = None
        self.before: Output = {}
        self.trace: list[str] = []

    def take(self, taken: Taken) -> None:
        """Give both engines one input, and compare the outputs."""
        self.number += 1
        for_oracle = self.to_first_question(taken) or self.numbers.command(taken)
        ours, oracle = self.ours.take(taken), self.oracle.take(for_oracle)
        self.numbers.begun |= self.ours.dropped
        self.trace.append(f"{self.number:4} {inputs(taken)}")
        self.trace += [f"       {each}" for each in event_lines(ours)]
        if differing(ours, oracle):
            ours = self.in_old_words(ours)
        if differing(ours, oracle):
            ours = self.numbers.apply(ours, oracle)
        if parts := differing(ours, oracle):
            self.judge(Difference(self.number, taken, parts, ours, oracle, self.before))
        if len(ours) == 1:
            raise Ended
        self.before = ours

    def in_old_words(self, ours: Output) -> Output:
        """Our output with its reworded texts in the words of the oracle."""
        translated = reworded.in_old_words(ours, self.reworded_texts)
        self.reworded += bool(differing(ours, translated))
        return translated

    def to_first_question(self, taken: Taken) -> Taken | None:
        """An answer to the first question of our engine, with the number of the first question of the oracle."""
        ours, oracle, entry = self.ours.asked, self.oracle.asked, taken.input
        if ours is None or oracle is None or not isinstance(entry, Commanded) or not isinstance(entry.command, Decide):
            return None
        if entry.command.question != ours.id:
            return None
        return replace(taken, input=replace(entry, command=replace(entry.command, question=oracle.id)))

    def judge(self, difference: Difference) -> None:
        for name, predicate in self.predicates.items():
            verdict = predicate(difference)
            if verdict is not None:
                self.used[name] += 1
                if verdict is Verdict.ENDS:
                    raise Ended
                return
        self.found = difference
        raise Ended

    def configure(self, settings: Settings) -> None:
        """Restart both engines from their checkpoints with these settings."""
        self.settings = settings
        self.ours.configure(settings)
        self.oracle.configure(settings)

    def checkpoint(self) -> None:
        self.ours.checkpoint()
        self.oracle.checkpoint()

    @property
    def outcome(self) -> Outcome:
        trace = tuple(self.trace) if self.found else ()
        return Outcome(self.name, self.number, dict(self.used), self.found, trace, self.reworded)


def play(session: Session, make: Callable[[str, Settings], Comparison] = Comparison) -> Outcome:
    """Play a seeded session to its end, or to the first difference that is not intended."""
    table = make(session.name, session.settings)
    picks = random.Random(session.seed)
    try:
        for act in session.acts:
            perform(table, act)
            if picks.random() < 0.03:
                table.checkpoint()
        for _ in range(MOST_ANSWERS):
            if table.ours.asked is None:
                break
            perform(table, AnswerStep(picks.randrange(24)))
    except Ended:
        pass
    return table.outcome


def perform(table: Comparison, act: sessions.Act) -> None:
    match act:
        case DeviceStep(seen=seen, found=found, after_s=after_s):
            table.now = now = later(table.now, after_s)
            table.take(Taken(Woken(), now, tuple([replace(each, at=now) for each in seen]), found))
        case PersonStep(command=command, role=role):
            author = Author("eve" if table.number % 5 == 0 else "ann", role)
            table.take(Taken(Commanded(command, author, f"id-{table.number}"), table.now))
        case AnswerStep(pick=pick, bettor=bettor):
            asked = table.ours.asked
            if asked is not None:
                perform(table, deciding(asked, pick, bettor))
        case Restart(settings=settings):
            table.configure(settings)
            table.now = later(table.now, 1)
            table.take(Taken(Configured("{}", ENGINE, "1"), table.now))


def for_the_oracle(seen: Iterable[AnyObservation]) -> Iterator[AnyObservation]:
    """The observations that the oracle knows: without doubts and states of devices, and without ids in shuffles."""
    for each in seen:
        match each:
            case DoubtRaised() | DoubtEnded() | DeviceStatus():
                pass
            case ShuffleStarted() | ShuffleEnded():
                yield replace(each, set_id="")
            case _:
                yield each


def later(now: Now, seconds: float) -> Now:
    return Now(now.utc_us + int(seconds * 1e6), now.mono_ns + int(seconds * 1e9))


# ---------------------------------------------------------------------------------------------- other sources


def rehearse(table: Comparison, steps: Iterable[Step]) -> Outcome:
    """Give both engines the recorded inputs and observations of a table."""
    try:
        for step in steps:
            if isinstance(step.input, Configured):
                table.checkpoint()
            table.take(Taken(step.input, step.now, tuple(for_the_oracle(step.observations))))
    except Ended:
        pass
    return table.outcome


def of_scenario(written: scenario.Scenario) -> list[Outcome]:
    """Compare the tables of a scenario. The expected output of the scenario is not used."""
    sittings = {number: scenario_table.ScenarioTable(written, number) for number in written.tables}
    for step in written.step:
        sittings[step.table].do(step)
    outcomes = []
    for number, sitting in sittings.items():
        settings = settings_of(sitting.engine)
        outcomes.append(rehearse(Comparison(f"scenario {written.name}, table {number}", settings), sitting.steps))
    return outcomes


class Recorder(golden.Player):
    """A player of captures that keeps its steps."""

    def __init__(self, header: Header) -> None:
        self.steps: list[Step] = []
        super().__init__(header)

    def take(self, entry: AnyInput, now: Now) -> None:
        self.state, step = self.engine.step(self.state, entry, now)
        self.steps += [] if step is None else [step]


def of_capture(path: Path) -> Outcome:
    """Compare a golden capture: the device session of shoed makes the observations for both engines."""
    capture = golden.load(path)
    recorder = Recorder(capture.header)
    for at_us, entry in golden.script(capture):
        recorder.pass_time(at_us)
        recorder.take(entry, Now(at_us, at_us * 1000))
    table = Comparison(f"capture {path.parts[-3]}/{path.stem}", settings_of(recorder.engine))
    return rehearse(table, recorder.steps)


def settings_of(engine: Any) -> Settings:  # noqa: ANN401  # an engine with a session of any family
    watch = engine.watch_settings
    return Settings(engine.table_settings, watch.min_draw_gap_ms, watch.decks, watch.byte_us)


def scenarios_and_captures() -> Iterator[Outcome]:
    """All scenarios and golden captures."""
    yield from chain.from_iterable(map(of_scenario, scenario.every()))
    yield from map(of_capture, golden.captures())


# ---------------------------------------------------------------------------------------------- reports


def inputs(taken: Taken) -> str:
    """An input on one line."""
    entry = [] if isinstance(taken.input, Woken) else [taken.input]
    brief = []
    for each in (*entry, *taken.seen, *taken.injected):
        fields = msgspec.to_builtins(each)
        for key in ("at", "frame", "saw", "found", "came", "id", "evidence"):
            fields.pop(key, None)
        fields_shown = ", ".join(f"{key}={short(entry)}" for key, entry in fields.items())
        brief.append(f"{type(each).__name__}({fields_shown})")
    return "; ".join(brief) or "woken"


def short(entry: object) -> str:
    text = entry if isinstance(entry, str) else msgspec.json.encode(entry).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def event_lines(output: Output) -> list[str]:
    if "events" not in output:
        return [short(value(output, "raised"))]
    lines = [f"{each['sequence']} {each['type']} {short(each['data'])}" for each in value(output, "events")]
    lines += [f"answer {short(each)}" for each in value(output, "answers")]
    return lines


def flat(entry: Any, path: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401  # JSON
    """The values of a document, each with its path."""
    match entry:
        case dict() if entry:
            for key, inner in entry.items():
                yield from flat(inner, f"{path}.{key}" if path else key)
        case list() if entry and any(isinstance(inner, dict | list) for inner in entry):
            for number, inner in enumerate(entry):
                yield from flat(inner, f"{path}[{number}]")
        case _:
            yield path, short(entry)


def compared(part: str, ours: Any, oracle: Any) -> list[str]:  # noqa: ANN401  # JSON
    """The lines or keys of a part that differ: `-` is the oracle, `+` is the engine of shoed."""
    if isinstance(ours, list) and isinstance(oracle, list):
        before, after = (
            [f"{each.get('type', '')} {short_of(each)}".strip() for each in entries] for entries in (oracle, ours)
        )
        lines = [each for each in difflib.ndiff(before, after) if each[0] in "+-"]
    else:
        old, new = dict(flat(oracle)), dict(flat(ours))
        keys = [key for key in dict.fromkeys((*old, *new)) if old.get(key) != new.get(key)]
        lines = [f"{key or part}: - {old.get(key, '(absent)')}  + {new.get(key, '(absent)')}" for key in keys]
    more = [] if len(lines) <= MOST_LINES else [f"... and {len(lines) - MOST_LINES} more"]
    return [*lines[:MOST_LINES], *more]


def short_of(entry: dict[str, Any]) -> str:
    return " ".join(f"{key}={text}" for key, text in flat(entry) if key != "type").replace("data.", "")


def report(outcome: Outcome, *, trace: bool = False) -> str:
    """The difference of a session that is not intended."""
    found = outcome.found
    assert found is not None
    lines = [f"{outcome.name}, step {found.number}: {inputs(found.taken)}"]
    if trace:
        lines += ["  before:", *(f"  {each}" for each in outcome.trace[-TRACED * 3 :])]
    for part in found.parts:
        lines += [f"  {part}:", *(f"    {each}" for each in compared(part, *found.both(part)))]
    return "\n".join(lines)


def kind(found: Difference) -> str:
    """A name for a difference; differences with the same name are reported once."""
    if "raised" in found.parts:
        return " / ".join(short(each) for each in found.both("raised"))
    added, gone = found.events()
    types = [f"+{each[0]}" for each in added] + [f"-{each[0]}" for each in gone]
    keys = {
        f"{part}:{key.partition('[')[0]}"
        for part in ("question", "state")
        if part in found.parts and not types
        for key in keys_that_differ(*found.both(part))
    }
    others = [part for part in found.parts if part not in ("events", "question", "state")]
    return " ".join([*types, *sorted(keys), *others]) or " ".join(found.parts)


def keys_that_differ(ours: Any, oracle: Any) -> set[str]:  # noqa: ANN401  # JSON
    if ours is None or oracle is None:
        return {"none"}
    return {key for key in {*ours, *oracle} if ours.get(key) != oracle.get(key)}


# ---------------------------------------------------------------------------------------------- the full run


class Total(NamedTuple):
    played: int
    steps: int
    used: Counter[str]
    kinds: dict[str, list[Outcome]]
    reworded: int


def total(outcomes: Iterable[Outcome]) -> Total:
    played, steps, reworded_steps, used = 0, 0, 0, Counter[str]()
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        played, steps = played + 1, steps + outcome.steps
        reworded_steps += outcome.reworded
        used.update(outcome.used)
        if outcome.found is not None:
            kinds.setdefault(kind(outcome.found), []).append(outcome)
    return Total(played, steps, used, kinds, reworded_steps)


def seeded(seed: int) -> Outcome:
    return play(sessions.session(seed))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differences", description="Compare shoed with its oracle.")
    parser.add_argument("--sessions", type=int, default=2000, help="the number of seeded sessions")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--trace", action="store_true", help="print the steps before each difference")
    parser.add_argument("--seeded-only", action="store_true", help="leave out scenarios and golden captures")
    given = parser.parse_args(arguments)
    begun = time.monotonic()
    seeds = range(given.first, given.first + given.sessions)
    first = () if given.seeded_only else scenarios_and_captures()
    if given.jobs > 1:
        with ProcessPoolExecutor(given.jobs) as pool:
            found = total(chain(first, pool.map(seeded, seeds, chunksize=8)))
    else:
        found = total(chain(first, map(seeded, seeds)))
    return conclude(found, time.monotonic() - begun, trace=given.trace)


def conclude(
    found: Total, seconds: float, predicates: Mapping[str, Predicate] = PREDICATES, *, trace: bool = False
) -> int:
    """Print the result. Return the exit status."""
    kinds = sorted(found.kinds.items(), key=lambda each: -len(each[1]))
    for name, outcomes in kinds[:REPORTED]:
        first = min(outcomes, key=lambda each: each.steps)
        print(f"{len(outcomes)} x {name}\n{report(first, trace=trace)}\n")
    if len(kinds) > REPORTED:
        print("and", *(f"{len(outcomes)} x {name}" for name, outcomes in kinds[REPORTED:]), sep="\n  ")
    print(f"{found.played} sessions, {found.steps} steps, {seconds:.0f} s")
    for name in predicates:
        print(f"  {name}: {found.used[name]}")
    print(f"  steps with a reworded text: {found.reworded}")
    missing = [name for name in predicates if not found.used[name]]
    if missing:
        print(f"never used: {', '.join(missing)}")
    different = sum(map(len, found.kinds.values()))
    print(f"{different} sessions differ" if different else "no difference")
    return 1 if different or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
