"""Make docs/metrics.md from the table of the metrics."""

from docs.protocol_page import table
from shoed.journal.recording import BUSY_S
from shoed.service.counters import BOUNDS
from shoed.service.metrics.endpoint import LONGEST_HEAD, MOST_CLIENTS, READ_S, RETRY_S
from shoed.service.metrics.facts import METRICS
from shoed.service.metrics_settings import EXAMPLE
from shoed.service.status import SLOW_S
from shoed.service.watchdog import DEFAULT_PERIOD_S


def metrics_page() -> str:
    rows = (
        (f"`{each.name}`", each.kind.value, ", ".join(f"`{label}`" for label in each.labels), each.help)
        for each in METRICS
    )
    return INTRODUCTION + table(("name", "type", "labels", "meaning"), rows) + LABELS


INTRODUCTION = f"""\
<!-- Written by docs/generate.py from docs/metrics_page.py; do not edit: run ./dev generate. -->

# Metrics and health

The daemon serves two pages over HTTP: `/metrics` for [Prometheus](https://prometheus.io), and `/health` for a
supervisor. Both are off by default. This section of the configuration switches them on:

```toml
[metrics]
listen = "{EXAMPLE}"          # or "[::1]:9101", or "unix:metrics.sock"
```

The pages have no password and no TLS. Therefore `listen` accepts only an address of the loopback interface, or the name
of a unix socket in the state directory. Only the user of the daemon, and root, can open the socket. Let a proxy with
TLS serve other machines.

```console
$ curl -s http://127.0.0.1:9101/health
$ curl -s --unix-socket /var/lib/shoed/metrics.sock http://localhost/metrics
```

If another program has the port, the daemon runs without the pages. The log and the status line of systemd have the
reason, and the daemon tries again every {RETRY_S:g} s.

A configuration of Prometheus needs these lines. The files in `packaging/monitoring/` expect this name of the job:

```yaml
rule_files: [shoed-alerts.yaml]
scrape_configs:
  - job_name: shoed
    static_configs: [{{targets: ["{EXAMPLE}"]}}]
```

- `packaging/monitoring/shoed-alerts.yaml` has alert rules for Prometheus.
- `packaging/monitoring/shoed-dashboard.json` is a dashboard for Grafana 9 or later.

## Health

`/health` answers with status 200 or 503, and a JSON object:

| key | value |
| --- | --- |
| `status` | `ok`, `warning` or `failed` |
| `failures` | the reasons of `failed`, each as one text |
| `warnings` | further reasons to look, each as one text |
| `version` | the version of shoed |
| `tables` | a list with `name`, `failure`, `devices` and `broker` of each table, as in `shoed status --json` |

The levels separate a defect of this daemon from the absence of another part:

| situation | `status` | HTTP | action |
| --- | --- | --- | --- |
| the journal cannot record a table | `failed` | 503 | the remedy of the message; the table is stopped, and continues \
by itself; see [faults](faults.md) |
| a commit of the journal takes more than {SLOW_S:g} s | `failed` | 503 | check the disk, and end the program that \
locks the journal; after {BUSY_S:g} s of a lock, the tables stop until the lock is released |
| a part is stuck: the journal, the bus, a port or a table without progress for the period of the watchdog | `failed` \
| 503 | the daemon no longer notifies the watchdog, and systemd restarts it; a wait for the disk does not count |
| a table has failed | `failed` | 503 | keep the log, and restart shoed between two rounds; the \
other tables continue meanwhile |
| a device is offline or quiet | `warning` | 200 | check the device; shoed connects again by itself |
| the broker is offline | `warning` | 200 | check the broker; shoed publishes the events of the journal later |
| unexpected errors since the start | `warning` | 200 | report the log, and restart shoed between two rounds |
| none of these | `ok` | 200 | none |

A supervisor may restart the daemon after several answers of 503, but not for the first two rows: a restart does not
help against a disk that fails. A restart does not help against a warning, and bytes that a device sends during a
restart may be lost. The period of the watchdog is `WatchdogSec` of the unit; without systemd it is
{DEFAULT_PERIOD_S:g} s. If the event loop itself is stuck, `/health` does not answer: give each request a time limit.

## Requests

A connection carries one request: GET or HEAD, in HTTP/1.0 or HTTP/1.1, without a body. At most {MOST_CLIENTS}
clients are served at once, and further clients receive 503. A request has at most {LONGEST_HEAD} bytes (431) and must
be complete after {READ_S:g} s (408).

## Metrics

Counters begin at 0 when the daemon starts, and do not decrease until its end. A table that is removed from the
configuration has no further values; if a reload adds it again, its counters continue.

"""

LABELS = f"""

| label | values |
| --- | --- |
| `table` | the tables of the configuration |
| `device` | `shoe`, `shuffler` |
| `kind` | the kinds of observations and findings, as in the journal |
| `type` | the types of [events](events.md) |
| `reason` | the reasons of [`line/rejected`](events.md#linerejected) |
| `state` | `online`, `quiet`, `offline` |

A series of each word exists from the start, so that the first occurrence is an increase. The histograms have the bounds
{", ".join(f"{bound:g}" for bound in BOUNDS)} s. The time of an acknowledgement includes an absence of the broker.
"""
