"""The text of /metrics, in the format of Prometheus (version 0.0.4).

Theory of operation: each value is read when a client requests the text, from the counters and from the present state
of the daemon. A table that is removed has no values. The event loop serves the tables between two tables of the text.
Every word of a label is written from the start, with 0: the first occurrence of a word is then an increase.
"""

import asyncio
import os
import time
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from firmware_protocols.family import Reason
from shoed import VERSION
from shoed.engine import ENGINE
from shoed.model.events import TYPES
from shoed.model.findings import AnyFinding
from shoed.model.observations import AnyObservation
from shoed.service.counters import BOUNDS, Counters, Histogram
from shoed.service.disk import DiskStatus
from shoed.service.metrics import facts
from shoed.service.metrics.facts import METRICS, Metric
from shoed.table.state import LinkStatus

if TYPE_CHECKING:
    from shoed.service.daemon import Daemon
    from shoed.service.desk import Desk

KINDS: Final = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyObservation)}
FINDING_KINDS: Final = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyFinding)}
REASONS: Final = [reason.value for reason in Reason]
LIMITS: Final = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")

PROC: Final = Path("/proc/self")
START_TICKS: Final = 21 - 2  # the field of /proc/self/stat, after the name of the program (proc(5))

Value = tuple[Metric, float, tuple[str, ...]]


async def metrics_text(daemon: "Daemon[Any]", disk: DiskStatus | None) -> str:
    """`disk`: None if the disk does not answer; its metrics then have no values."""
    lines: dict[str, list[str]] = {metric.name: [] for metric in METRICS}
    put(lines, (*of_daemon(daemon), *of_process(), *of_disk(disk)))
    lines[facts.COMMIT.name] += histogram_lines(facts.COMMIT, daemon.commits, ())
    for desk in tuple(daemon.desks):
        await asyncio.sleep(0)  # the tables are served
        put(lines, (*of_table(desk), *of_devices(desk)))
        for metric, histogram in histograms(desk.counters):
            lines[metric.name] += histogram_lines(metric, histogram, (desk.name,))
    heads = ((f"# HELP {each.name} {each.help}", f"# TYPE {each.name} {each.kind.value}") for each in METRICS)
    return "\n".join(line for head, of in zip(heads, lines.values(), strict=True) for line in (*head, *of)) + "\n"


def put(lines: dict[str, list[str]], values: Iterable[Value]) -> None:
    for metric, value, labels in values:
        lines[metric.name].append(f"{metric.name}{shown(metric.labels, labels)} {value}")


def shown(names: tuple[str, ...], labels: tuple[str, ...]) -> str:
    """The labels. No name of a table and no word of shoed has a character that must be escaped."""
    pairs = [f'{name}="{text}"' for name, text in zip(names, labels, strict=True)]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def histogram_lines(metric: Metric, histogram: Histogram, labels: tuple[str, ...]) -> Iterator[str]:
    names = (*metric.labels, "le")
    counts = list(accumulate(histogram.counts))
    for limit, count in zip(LIMITS, counts, strict=True):
        yield f"{metric.name}_bucket{shown(names, (*labels, limit))} {count}"
    yield f"{metric.name}_sum{shown(metric.labels, labels)} {histogram.total_s}"
    yield f"{metric.name}_count{shown(metric.labels, labels)} {counts[-1]}"


def histograms(counters: Counters) -> Iterator[tuple[Metric, Histogram]]:
    yield facts.BYTE_TO_COMMIT, counters.byte_to_commit
    yield facts.COMMIT_TO_ACKNOWLEDGEMENT, counters.commit_to_acknowledgement


def of_daemon(daemon: "Daemon[Any]") -> Iterator[Value]:
    yield facts.BUILD, 1, (VERSION, str(ENGINE))
    yield facts.JOURNAL_FAILED, int(any(desk.record.reason is not None for desk in daemon.desks)), ()
    yield facts.JOURNAL_QUEUE, len(daemon.writer.queue), ()
    yield facts.UNEXPECTED, daemon.unexpected.count, ()
    yield facts.STUCK, len(daemon.stuck_parts(daemon.systemd.watchdog_s)), ()


def of_process() -> Iterator[Value]:
    yield facts.STARTED, started_s(), ()
    yield facts.CPU, time.process_time(), ()
    yield facts.MEMORY, int((PROC / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"), ()
    yield facts.FILES, len(list((PROC / "fd").iterdir())) - 1, ()  # without the one that reads the directory


@cache
def started_s() -> float:
    """One value for all requests: Prometheus takes another value for another process."""
    after_name = (PROC / "stat").read_text().rpartition(")")[2].split()
    up_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(after_name[START_TICKS]) / os.sysconf("SC_CLK_TCK")
    return round(time.time() - up_s, 1)


def of_disk(disk: DiskStatus | None) -> Iterator[Value]:
    if disk is not None:
        yield facts.JOURNAL_SIZE, disk.journal_bytes, ()
        yield facts.DISK_FREE, disk.free_bytes, ()
        yield facts.DISK_SIZE, disk.total_bytes, ()


def of_table(desk: "Desk") -> Iterator[Value]:
    of, publisher = (desk.name,), desk.publisher
    for kind, word in FINDING_KINDS.items():
        yield facts.FINDINGS, desk.counters.findings[kind], (*of, word)
    for event in TYPES.values():
        yield facts.EVENTS, desk.counters.events[event], (*of, event)
    yield facts.PUBLISHED, desk.counters.events_published, of
    yield facts.ACKNOWLEDGED, desk.counters.events_acknowledged, of
    yield facts.BACKLOG, desk.backlog, of
    yield facts.IN_FLIGHT, len(publisher.under_way), of
    yield facts.COMMAND_QUEUE, len(desk.pending), of
    yield facts.BROKER, int(publisher.offline_reason is None), of
    yield facts.TABLE_FAILED, int(desk.ended is not None), of


def of_devices(desk: "Desk") -> Iterator[Value]:
    counters = desk.counters
    for device, shown_device in desk.public_devices.items():
        of = (desk.name, device.value)
        yield facts.BYTES, counters.bytes[device], of
        yield facts.FRAMES, counters.frames[device], of
        for kind, word in KINDS.items():
            yield facts.OBSERVATIONS, counters.observations[device, kind], (*of, word)
        for reason in REASONS:
            yield facts.REJECTIONS, counters.rejections[device, reason], (*of, reason)
            yield facts.REJECTED_BYTES, counters.rejected_bytes[device, reason], (*of, reason)
        for status in LinkStatus:
            yield facts.LINK, int(shown_device.link is status), (*of, status.value)
