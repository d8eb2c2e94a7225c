"""The metrics and the health of the daemon, over HTTP. Nothing here is imported unless `[metrics]` is configured."""

from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shoed.service.metrics.endpoint import HttpPage, MetricsEndpoint
from shoed.service.metrics.health import FAILED, health
from shoed.service.metrics.text import metrics_text
from shoed.service.metrics_settings import MetricsPlace

if TYPE_CHECKING:
    from shoed.service.daemon import Daemon


def endpoint_of(place: MetricsPlace, state_dir: Path, daemon: "Daemon[Any]") -> MetricsEndpoint:
    """The endpoint of a daemon. Each request reads the present state of the daemon."""

    async def metrics_page() -> HttpPage:
        text = await metrics_text(daemon, await daemon.disk.measure())
        return HttpPage(HTTPStatus.OK, "text/plain; version=0.0.4; charset=utf-8", text.encode())

    async def health_page() -> HttpPage:
        found = health(daemon)
        status = HTTPStatus.SERVICE_UNAVAILABLE if found.status == FAILED else HTTPStatus.OK
        return HttpPage(status, "application/json", msgspec.json.encode(found) + b"\n")

    return MetricsEndpoint(place, state_dir, {"/metrics": metrics_page, "/health": health_page})
