# SPDX-License-Identifier: Apache-2.0
"""Lines of a standard error: their levels, and the measurements of METRIC lines, as metrics of the task.

Taps log by singer-python (``INFO METRIC: {…}``, or ``time=… level=INFO message=METRIC: {…}``) or by the Meltano SDK
(``2024-01-01 … | INFO     | singer_sdk.metrics | METRIC: {…}``, or a JSON object for each line).
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.plugin_metrics import Counter, PluginMetrics

_WORD: Final = r"(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b"
_LEVEL: Final = re.compile(
    # After nothing but a time, in brackets or before a bar; or behind its name, in logfmt or JSON.
    rf"^[\[\d][\d\-:,.TZ+/ \]\[|]*{_WORD}|^{_WORD}|\blevel=(?i:{_WORD})|\"level\": ?\"(?i:{_WORD})"
)
_LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "CRITICAL": logging.CRITICAL,
    "FATAL": logging.CRITICAL,
}
_TRACEBACK: Final = "Traceback (most recent call last)"
_METRIC: Final = "METRIC: "
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_KINDS: Final = ("counter", "timer")
_STREAM_TAGS: Final = ("stream", "table", "endpoint", "job_type")
"""The tags that say what was measured: the SDK's, those of taps of databases, singer-python's."""
_LONGEST_TAG: Final = 100
log = logging.getLogger(__name__)

_MOST: Final = 500
"""A tap may tag by values that never end, such as addresses with an id."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A METRIC line: ``value`` is what was counted since the last one, or the seconds that something took."""

    kind: str
    metric: str
    stream: str
    status: str
    value: float


def level_of(line: str, former: int) -> int:
    """Return the level of a line; one without a level, as in a stack trace, has that of the ``former`` one."""
    if line.startswith(_TRACEBACK):
        return max(former, logging.ERROR)
    found = _LEVEL.search(line)
    return former if found is None else _LEVELS[str(found[found.lastindex or 0]).upper()]


def measurement(line: str) -> Measurement | None:
    """Return the measurement of a line; None if it has none, or one of another kind or without a usable value."""
    _, found, text = line.partition(_METRIC)
    if not found:
        return None
    if line.startswith("{"):  # the SDK's JSON has the message as a text
        text = _message(line).partition(_METRIC)[2]
    try:
        point, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return _measured(point) if isinstance(point, dict) else None


def _message(line: str) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    texts = (record.get(name) for name in ("message", "event"))
    return next((text for text in texts if isinstance(text, str)), "")


def _measured(point: Mapping[str, Any]) -> Measurement | None:
    kind, metric, value = point.get("type", point.get("metric_type")), point.get("metric"), point.get("value")
    tags = point.get("tags")
    tags = tags if isinstance(tags, dict) else {}
    if kind not in _KINDS or not isinstance(metric, str) or not _NAME.fullmatch(metric):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        return None
    stream = next((str(tags[name]) for name in _STREAM_TAGS if tags.get(name)), "")
    return Measurement(kind, metric, stream[:_LONGEST_TAG], str(tags.get("status") or "")[:_LONGEST_TAG], float(value))


class TapMetrics:
    """Adds up measurements over all runs of a task's tap. For one thread."""

    def __init__(self, metrics: PluginMetrics, most: int = _MOST) -> None:
        self._metrics, self._most = metrics, most
        self._counters: dict[tuple[str, ...], Counter] = {}
        self._full = False

    def add(self, measured: Measurement) -> None:
        """Add a measurement to its totals."""
        name, stream = f"tap-{measured.metric.replace('_', '-')}", {"stream": measured.stream}
        if measured.kind == "counter":
            self._add(f"{name}-total", f"{measured.metric} that the tap has counted", stream, measured.value)
            return
        tags = {**stream, "status": measured.status}
        self._add(
            f"{name}-seconds-total", f"Seconds that the tap has measured as {measured.metric}", tags, measured.value
        )
        self._add(f"{name}-measurements-total", f"Measurements of {measured.metric} by the tap", tags, 1)

    def _add(self, name: str, description: str, tags: dict[str, str], value: float) -> None:
        key = (name, *tags.values())
        counter = self._counters.get(key)
        if counter is None:
            if len(self._counters) >= self._most:
                self._log_full(name)
                return
            counter = self._counters[key] = self._metrics.counter(name, description, tags)
        counter.add(value)

    def _log_full(self, name: str) -> None:
        if not self._full:
            self._full = True
            log.warning("The tap has logged more than %d metrics; others are left out, first %s", self._most, name)
