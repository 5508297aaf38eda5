# SPDX-License-Identifier: Apache-2.0
"""``plugins``: the metrics that plugins register themselves (KIP-877)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import urlencode

from headrace.metrics.connect_metric import ConnectMetric, Reading, untagged
from headrace.model.ids import ConnectorTaskId

GROUP: Final = "plugins"
OWN_TAGS: Final = frozenset(("connector", "task"))
_DESCRIPTION: Final = "#"
"""The key of a description among the tags of a figure's name, which no tag can have as Prometheus' label."""
_UNUSABLE: Final = re.compile(r"^[_-]{2,}|^(?=[0-9])|[^a-zA-Z0-9_-]")
"""Parts that no label of Prometheus may have; two underscores begin its own, as ``__name__``."""


def plugin_metric_name(name: str, description: str, tags: Mapping[str, str]) -> str:
    """Return the name of such a metric among the figures of a task or connector."""
    usable = {_UNUSABLE.sub("_", tag): text for tag, text in tags.items()}
    return f"{GROUP}/{_UNUSABLE.sub('_', name)}?{urlencode({**usable, _DESCRIPTION: description})}"


def reading(id: ConnectorTaskId, name: str, value: float) -> Reading | None:
    """Return the value of one of a task's figures; None if it is not of a plugin."""
    return _reading({"connector": id.connector, "task": str(id.task)}, name, value)


def connector_reading(connector: str, name: str, value: float) -> Reading | None:
    """Return the value of one of a connector's figures, which have no tag ``task``."""
    return _reading({"connector": connector}, name, value)


def _reading(own: Mapping[str, str], name: str, value: float) -> Reading | None:
    parts = untagged(name)
    if parts is None or parts[0] != GROUP:
        return None
    tags = {tag: text for tag, text in parts[2].items() if tag != _DESCRIPTION}
    metric = _metric(parts[1], parts[2].get(_DESCRIPTION, ""), (*own, *tags))
    return Reading(metric, (*own.values(), *tags.values()), value)


@lru_cache(maxsize=4096)
def _metric(name: str, description: str, labels: tuple[str, ...]) -> ConnectMetric:
    return ConnectMetric(GROUP, name, description, labels)
