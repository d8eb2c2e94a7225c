"""The files for Prometheus and Grafana: every name in them is a metric, and the rules are correct."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from shoed.model.events import TYPES
from shoed.service.metrics.facts import METRICS, MetricKind, series
from shoed.service.metrics.text import FINDING_KINDS, KINDS, REASONS
from shoed.table.state import LinkStatus
from tests.promtool import needs_promtool, promtool

FOLDER: Final = Path(__file__).parent.parent / "packaging" / "monitoring"
RULES: Final = FOLDER / "shoed-alerts.yaml"
DASHBOARD: Final = FOLDER / "shoed-dashboard.json"

NAME: Final = re.compile(r"\b(?:shoed|process)_\w+")
SELECTOR: Final = re.compile(r"\b((?:shoed|process)_\w+)\{([^}]*)\}")
MATCHER: Final = re.compile(r'(\w+)(=~|=)"([^"]*)"')
OF_PROMETHEUS: Final = {"instance", "job", "le"}
WORDS: Final = {
    ("shoed_observations_total", "kind"): KINDS.values(),
    ("shoed_findings_total", "kind"): FINDING_KINDS.values(),
    ("shoed_events_total", "type"): TYPES.values(),
    ("shoed_rejected_lines_total", "reason"): REASONS,
    ("shoed_link_state", "state"): [status.value for status in LinkStatus],
}


class Query(NamedTuple):
    place: str
    text: str


def queries() -> Iterator[Query]:
    for number, found in enumerate(re.findall(r"^ *expr: (.*)$", RULES.read_text(), re.MULTILINE), start=1):
        yield Query(f"rule {number}", found)
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield Query(panel["title"], target["expr"])


def faults(query: str) -> Iterator[str]:
    """Unknown names, unknown labels, and words that no series has."""
    yield from set(NAME.findall(query)) - set(series())
    for name, matchers in SELECTOR.findall(query):
        of = [each for each in METRICS if name.startswith(each.name)]
        for label, _, value in MATCHER.findall(matchers):
            if not any(label in (*each.labels, *OF_PROMETHEUS) for each in of):
                yield f"{name}: {label}"
            words = WORDS.get((name, label), ())
            if words and "$" not in value and not any(re.fullmatch(value, word) for word in words):
                yield f"{name}: {label}={value}"


def test_every_query_uses_existing_metrics_only() -> None:
    """Names, labels and words are those of /metrics."""
    assert len(list(queries())) > 40
    assert [(query.place, fault) for query in queries() for fault in faults(query.text)] == []


@pytest.mark.parametrize(
    "query",
    [
        "shoed_cards_total",
        "shoed_commit_seconds",  # a histogram has no series of its own name
        'shoed_backlog_events{device="shoe"}',
        'shoed_findings_total{kind="Nothing"}',
        'shoed_events_total{type="round.disputed",kind="a"}',
    ],
)
def test_a_wrong_query_is_detected(query: str) -> None:
    """The check can fail."""
    assert list(faults(query))


def test_every_metric_is_used() -> None:
    """A metric without a panel and without an alert would be seen by no person."""
    used = {name for query in queries() for name in NAME.findall(query.text)}
    assert [each.name for each in METRICS if not any(name.startswith(each.name) for name in used)] == []


def test_names_follow_the_conventions() -> None:
    """A counter ends with `_total`, a histogram with its unit, and no other metric with `_total`."""
    assert len({each.name for each in METRICS}) == len(METRICS)
    for each in METRICS:
        assert each.name.endswith("_total") == (each.kind is MetricKind.COUNTER)
        assert each.name.endswith("_seconds") or each.kind is not MetricKind.HISTOGRAM
        assert re.fullmatch(r"[A-Z0-9].*\.", each.help)


@needs_promtool
async def test_prometheus_accepts_the_rules() -> None:
    """By `promtool check rules`."""
    assert await promtool("check", "rules", str(RULES)) == ""


@needs_promtool
async def test_an_alert_fires(tmp_path: Path) -> None:
    """A device that is offline for two minutes, the first finding of a kind, and a daemon that does not answer."""
    test = tmp_path / "test.yaml"
    test.write_text(RULES_TEST.format(rules=RULES))
    assert await promtool("test", "rules", str(test)) == ""


RULES_TEST: Final = """\
rule_files: [{rules}]
evaluation_interval: 30s
tests:
  - interval: 30s
    input_series:
      - series: 'up{{job="shoed", instance="a"}}'
        values: '1 1 1 1 0 0 0 0 0 0'
      - series: 'shoed_link_state{{table="bac-901", device="shoe", state="offline"}}'
        values: '0 1 1 1 1 1 1 0 0 0'
      - series: 'shoed_findings_total{{table="bac-901", kind="TooOften"}}'
        values: '0 0 0 0 0 0 1 1 1 1'
    alert_rule_test:
      - {{eval_time: 2m, alertname: ShoedDeviceOffline, exp_alerts: []}}
      - {{eval_time: 2m, alertname: ShoedFinding, exp_alerts: []}}
      - {{eval_time: 4m, alertname: ShoedDeviceOffline, exp_alerts: []}}
      - eval_time: 3m
        alertname: ShoedDeviceOffline
        exp_alerts:
          - exp_labels: {{severity: warning, table: bac-901, device: shoe, state: offline}}
            exp_annotations:
              summary: The shoe of table bac-901 is offline
              description: Check the cable, the power and the port. /health has the reason.
      - eval_time: 3m
        alertname: ShoedFinding
        exp_alerts:
          - exp_labels: {{severity: warning, table: bac-901, kind: TooOften}}
            exp_annotations:
              summary: TooOften at table bac-901
              description: The watch has found an irregularity. The events of the table have the evidence.
      - eval_time: 3m
        alertname: ShoedDown
        exp_alerts:
          - exp_labels: {{severity: critical, job: shoed, instance: a}}
            exp_annotations:
              summary: shoed does not answer at a
              description: The daemon does not run, or does not answer. See systemctl status shoed.
"""
