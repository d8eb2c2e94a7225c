"""The metrics: one entry for each, in the order of /metrics and of docs/metrics.md.

Names, types and units follow the conventions of Prometheus. Each label has a bounded number of values: the tables of
the configuration, and the words of shoed.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final

from msgspec import Struct


class MetricKind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(Struct, frozen=True):
    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()


COUNTER, GAUGE, HISTOGRAM = MetricKind
OF_TABLE: Final = ("table",)
OF_DEVICE: Final = ("table", "device")

BUILD: Final = Metric("shoed_build_info", GAUGE, "Always 1; the labels have the versions.", ("version", "engine"))
STARTED: Final = Metric("process_start_time_seconds", GAUGE, "The start of the process, in seconds since 1970.")
CPU: Final = Metric("process_cpu_seconds_total", COUNTER, "The processor time of the process.")
MEMORY: Final = Metric("process_resident_memory_bytes", GAUGE, "The memory of the process.")
FILES: Final = Metric("process_open_fds", GAUGE, "The open files and sockets of the process.")

BYTES: Final = Metric(
    "shoed_received_bytes_total", COUNTER, "Bytes from the device, without those that its key rejects.", OF_DEVICE
)
FRAMES: Final = Metric(
    "shoed_frames_total", COUNTER, "Valid frames with at least one observation; each copy is a frame.", OF_DEVICE
)
OBSERVATIONS: Final = Metric(
    "shoed_observations_total", COUNTER, "Observations of the session, by kind.", (*OF_DEVICE, "kind")
)
REJECTIONS: Final = Metric(
    "shoed_rejected_lines_total", COUNTER, "Pieces of the line that are not frames, by reason.", (*OF_DEVICE, "reason")
)
REJECTED_BYTES: Final = Metric(
    "shoed_rejected_bytes_total", COUNTER, "Bytes that are not part of a frame, by reason.", (*OF_DEVICE, "reason")
)
FINDINGS: Final = Metric(
    "shoed_findings_total", COUNTER, "Committed findings of the watch, by kind.", (*OF_TABLE, "kind")
)
EVENTS: Final = Metric("shoed_events_total", COUNTER, "Committed events, by type.", (*OF_TABLE, "type"))
PUBLISHED: Final = Metric(
    "shoed_published_events_total", COUNTER, "Events sent to the broker; a repetition counts again.", OF_TABLE
)
ACKNOWLEDGED: Final = Metric(
    "shoed_acknowledged_events_total", COUNTER, "Events that the broker has acknowledged.", OF_TABLE
)

BYTE_TO_COMMIT: Final = Metric(
    "shoed_byte_to_commit_seconds",
    HISTOGRAM,
    "From reading the last byte of a Step to the end of its commit; Steps without a result are not measured.",
    OF_TABLE,
)
COMMIT: Final = Metric("shoed_commit_seconds", HISTOGRAM, "The duration of a commit of the journal.")
COMMIT_TO_ACKNOWLEDGEMENT: Final = Metric(
    "shoed_commit_to_acknowledgement_seconds",
    HISTOGRAM,
    "From the commit of a Step with events to the acknowledgement of its last event by the broker.",
    OF_TABLE,
)

JOURNAL_SIZE: Final = Metric("shoed_journal_size_bytes", GAUGE, "The size of the files of the journal.")
DISK_FREE: Final = Metric("shoed_disk_free_bytes", GAUGE, "The free space of the disk of the journal, for the daemon.")
DISK_SIZE: Final = Metric("shoed_disk_size_bytes", GAUGE, "The size of the disk of the journal.")
JOURNAL_FAILED: Final = Metric(
    "shoed_journal_failed", GAUGE, "1 while a table is stopped because its commits fail, and while a commit hangs."
)
JOURNAL_QUEUE: Final = Metric(
    "shoed_journal_queue_length", GAUGE, "Steps and other work that wait for the thread of the journal."
)
COMMAND_QUEUE: Final = Metric("shoed_command_queue_length", GAUGE, "Commands that wait for their answer.", OF_TABLE)
IN_FLIGHT: Final = Metric(
    "shoed_unacknowledged_messages", GAUGE, "Messages that the broker has not acknowledged yet.", OF_TABLE
)
BACKLOG: Final = Metric(
    "shoed_backlog_events", GAUGE, "Events of the table that the broker has not acknowledged.", OF_TABLE
)
LINK: Final = Metric(
    "shoed_link_state", GAUGE, "1 for the present state of the link, 0 for the others.", (*OF_DEVICE, "state")
)
BROKER: Final = Metric("shoed_broker_connected", GAUGE, "1 while the table is connected to the broker.", OF_TABLE)
TABLE_FAILED: Final = Metric("shoed_table_failed", GAUGE, "1 after the table ended because of an error.", OF_TABLE)
UNEXPECTED: Final = Metric(
    "shoed_unexpected_errors_total", COUNTER, "Errors with a traceback in the log; shoed continues after each of them."
)
STUCK: Final = Metric(
    "shoed_stuck_parts", GAUGE, "Parts without progress for the period of the watchdog; /health names them."
)

METRICS: Final = (
    *(BUILD, STARTED, CPU, MEMORY, FILES),
    *(BYTES, FRAMES, OBSERVATIONS, REJECTIONS, REJECTED_BYTES, FINDINGS, EVENTS, PUBLISHED, ACKNOWLEDGED),
    *(BYTE_TO_COMMIT, COMMIT, COMMIT_TO_ACKNOWLEDGEMENT),
    *(JOURNAL_SIZE, DISK_FREE, DISK_SIZE, JOURNAL_FAILED, JOURNAL_QUEUE),
    *(COMMAND_QUEUE, IN_FLIGHT, BACKLOG, LINK, BROKER, TABLE_FAILED, UNEXPECTED, STUCK),
)


def series() -> Iterator[str]:
    """The names that a query may use: a histogram has three."""
    for metric in METRICS:
        if metric.kind is HISTOGRAM:
            yield from (f"{metric.name}_{part}" for part in ("bucket", "sum", "count"))
        else:
            yield metric.name
