"""Make packaging/monitoring/shoed-dashboard.json, a dashboard for Grafana 9 or later, from a table of panels."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

WIDTH: Final = 24  # of the grid of Grafana
HEIGHT: Final = 7
SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
SCOPE: Final = 'instance=~"$instance",table=~"$table"'


class Panel(NamedTuple):
    title: str
    unit: str
    queries: Mapping[str, str]  # each with its legend
    kind: str = "timeseries"
    width: int = 8


def rate(metric: str, *by: str, scope: str = SCOPE) -> str:
    return f"sum by ({', '.join(by)}) (rate({metric}{{{scope}}}[$__rate_interval]))"


def quantiles(metric: str, scope: str = SCOPE) -> Mapping[str, str]:
    buckets = rate(f"{metric}_bucket", "le", scope=scope)
    return {f"histogram_quantile({share}, {buckets})": name for share, name in (("0.5", "median"), ("0.99", "99 %"))}


DEVICE: Final = "{{table}} {{device}}"
OF_CARDS: Final = f'{SCOPE},type=~"card.*"'
OF_DAEMON: Final = 'instance=~"$instance"'
PANELS: Final = (
    Panel("Tables", "short", {f"sum(shoed_table_failed{{{SCOPE}}} == bool 0)": "in service"}, "stat", 4),
    Panel("Failed tables", "short", {f"sum(shoed_table_failed{{{SCOPE}}})": "failed"}, "stat", 4),
    Panel("Stuck parts", "short", {f"sum(shoed_stuck_parts{{{OF_DAEMON}}})": "stuck"}, "stat", 4),
    Panel("Devices offline", "short", {f'sum(shoed_link_state{{{SCOPE},state="offline"}})': "offline"}, "stat", 4),
    Panel(
        "Tables without a broker", "short", {f"sum(shoed_broker_connected{{{SCOPE}}} == bool 0)": "offline"}, "stat", 4
    ),
    Panel("Version", "short", {f"shoed_build_info{{{OF_DAEMON}}}": "{{version}}, engine {{engine}}"}, "stat", 4),
    Panel(
        "Cards per minute",
        "short",
        {f"60 * {rate('shoed_events_total', 'table', scope=OF_CARDS)}": "{{table}}"},
    ),
    Panel("Events per second", "short", {rate("shoed_events_total", "type"): "{{type}}"}),
    Panel(
        "Findings in an hour",
        "short",
        {f"sum by (table, kind) (increase(shoed_findings_total{{{SCOPE}}}[1h])) > 0": "{{table}} {{kind}}"},
    ),
    Panel("Links online", "short", {f'shoed_link_state{{{SCOPE},state="online"}}': DEVICE}),
    Panel("Received bytes", "Bps", {rate("shoed_received_bytes_total", "table", "device"): DEVICE}),
    Panel("Frames per second", "short", {rate("shoed_frames_total", "table", "device"): DEVICE}),
    Panel("Observations per second", "short", {rate("shoed_observations_total", "kind"): "{{kind}}"}),
    Panel(
        "Rejected lines per second",
        "short",
        {rate("shoed_rejected_lines_total", "table", "reason"): "{{table}} {{reason}}"},
    ),
    Panel("Rejected bytes", "Bps", {rate("shoed_rejected_bytes_total", "table", "device"): DEVICE}),
    Panel("Last byte to commit", "s", quantiles("shoed_byte_to_commit_seconds")),
    Panel("Commit", "s", quantiles("shoed_commit_seconds", OF_DAEMON)),
    Panel("Commit to acknowledgement", "s", quantiles("shoed_commit_to_acknowledgement_seconds")),
    Panel(
        "Published and acknowledged events per second",
        "short",
        {
            rate("shoed_published_events_total", "table"): "{{table}} published",
            rate("shoed_acknowledged_events_total", "table"): "{{table}} acknowledged",
        },
    ),
    Panel("Backlog", "short", {f"shoed_backlog_events{{{SCOPE}}}": "{{table}}"}),
    Panel(
        "Queues",
        "short",
        {
            f"shoed_journal_queue_length{{{OF_DAEMON}}}": "journal",
            f"shoed_command_queue_length{{{SCOPE}}}": "{{table}} commands",
            f"shoed_unacknowledged_messages{{{SCOPE}}}": "{{table}} messages",
        },
    ),
    Panel(
        "Journal and free space",
        "bytes",
        {f"shoed_journal_size_bytes{{{OF_DAEMON}}}": "journal", f"shoed_disk_free_bytes{{{OF_DAEMON}}}": "free"},
    ),
    Panel("Memory", "bytes", {f'process_resident_memory_bytes{{job="shoed",{OF_DAEMON}}}': "{{instance}}"}),
    Panel(
        "Processor and files",
        "short",
        {
            f'rate(process_cpu_seconds_total{{job="shoed",{OF_DAEMON}}}[$__rate_interval])': "processors",
            f'process_open_fds{{job="shoed",{OF_DAEMON}}}': "files",
        },
    ),
)


def dashboard() -> str:
    panels, x, y = [], 0, 0
    for number, panel in enumerate(PANELS, start=1):
        if x + panel.width > WIDTH:
            x, y = 0, y + HEIGHT
        panels.append(drawn(panel, number, {"x": x, "y": y, "w": panel.width, "h": HEIGHT}))
        x += panel.width
    variables = [
        {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"},
        variable("instance", "label_values(shoed_build_info, instance)"),
        variable("table", 'label_values(shoed_table_failed{instance=~"$instance"}, table)'),
    ]
    page = {
        "title": "shoed",
        "uid": "shoed",
        "tags": ["shoed"],
        "schemaVersion": 36,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": panels,
    }
    return json.dumps(page, indent=2) + "\n"


def drawn(panel: Panel, number: int, place: Mapping[str, int]) -> Mapping[str, object]:
    targets = [
        {"refId": chr(ord("A") + at), "datasource": SOURCE, "expr": query, "legendFormat": legend}
        for at, (query, legend) in enumerate(panel.queries.items())
    ]
    custom: Mapping[str, Sequence[str] | str] = {"textMode": "name"} if panel.title == "Version" else {}
    return {
        "id": number,
        "title": panel.title,
        "type": panel.kind,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": custom,
        "targets": targets,
    }


def variable(name: str, query: str) -> Mapping[str, object]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
        "allValue": ".*",
    }
