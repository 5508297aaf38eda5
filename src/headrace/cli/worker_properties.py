# SPDX-License-Identifier: Apache-2.0
"""A check of all of a worker's properties at its start: mistakes in one message, and names without effect."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Final

from headrace.api.config_def import ConfigDef
from headrace.api.errors import ConfigError
from headrace.config.distributed_config import DistributedConfig
from headrace.config.standalone_config import StandaloneConfig
from headrace.config.worker_config import CONFIG_PROVIDERS, WorkerConfig
from headrace.kafka.clients.client_definitions import NAMES

log = logging.getLogger(__name__)

_MOST_LETTERS: Final = 2
"""The number of letters by which a misspelling differs from a property's name at most."""
_CLIENTS: Final = ("", "producer.", "consumer.", "admin.")
_LISTENERS: Final = ("listeners.https.", "admin.listeners.https.")
_TOPICS: Final = ("config.storage.", "offset.storage.", "status.storage.")
_CONVERTERS: Final = ("key.converter.", "value.converter.", "header.converter.")
_FREE: Final = (*_CLIENTS[1:], *_LISTENERS, *_TOPICS, *_CONVERTERS, f"{CONFIG_PROVIDERS}.", "spark.")
"""Names below these are those of clients, topics, plugins and Spark, which no worker knows all of."""
_METRICS: Final = "metrics are served at GET /metrics, and need no reporter"
UNUSED: Final = {
    **dict.fromkeys(("metric.reporters", "auto.include.jmx.reporter"), _METRICS),
    **dict.fromkeys(("metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms"), _METRICS),
    "interceptor.classes": "clients have no interceptors; transformations see each record",
    "plugin.discovery": "Python plugins are found by entry points and in plugin.path, those in Java by all jars there",
    **dict.fromkeys(("rest.host.name", "rest.port"), "the REST API listens where listeners says"),
    **dict.fromkeys(
        ("internal.key.converter", "internal.value.converter"), "internal topics always have Kafka Connect's format"
    ),
}
"""Properties of Kafka Connect and its clients that have no effect here, with the reason."""


def check_worker_properties(kind: type[WorkerConfig], properties: Mapping[str, str | None]) -> None:
    """Raise ConfigError with all mistakes: values that are missing or not valid, and names that are misspelt.

    A misspelt name would leave the property that was meant at its default without a word. ``kind`` is that of the
    worker.
    """
    given = {name: text for name, text in properties.items() if text is not None}
    errors = [*_invalid(kind.DEFINITION, given)]
    known = _known(kind)
    for name in given:
        meant = _nearest(name, known) if name not in known and name not in UNUSED else None
        if meant is not None:
            errors.append(ConfigError(f"There is no property {name}; did you mean '{meant}'?", name))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        listed = "; ".join(f"({number}) {error}" for number, error in enumerate(errors, 1))
        raise ConfigError(f"The worker's properties have {len(errors)} mistakes: {listed}")


def log_unused_properties(config: WorkerConfig) -> None:
    """Log a warning for each property of a worker that has no effect."""
    known = _known(type(config))
    for name in config.raw:
        reason = None if name in known else _reason(type(config), name)
        if reason is not None:
            log.warning("The worker's property %s has no effect: %s", name, reason)


def _invalid(definition: ConfigDef, given: Mapping[str, str]) -> Iterator[ConfigError]:
    for key in definition.config_keys.values():
        try:
            ConfigDef().define_key(key).parse(given)
        except ConfigError as error:
            yield error


def _known(kind: type[WorkerConfig]) -> frozenset[str]:
    tls = {name for name in NAMES if name.startswith("ssl.")} | {"ssl.client.auth"}
    return frozenset(
        (kind.DEFINITION.config_keys.keys() | tls | {prefix + name for prefix in _CLIENTS for name in NAMES})
        - UNUSED.keys()
    ) | {prefix + name for prefix in _LISTENERS for name in tls}


def _reason(kind: type[WorkerConfig], name: str) -> str | None:
    """Return the reason why a property that is not known has no effect; None if it may have one."""
    if name in UNUSED:
        return UNUSED[name]
    for other, command in ((DistributedConfig, "distributed"), (StandaloneConfig, "standalone")):
        if other is not kind and name in other.DEFINITION.config_keys:
            return f"only headrace {command} uses it"
    return None if name.startswith(_FREE) else "there is no such property"


def _nearest(name: str, known: frozenset[str]) -> str | None:
    near = {other: _difference(name, other) for other in known if abs(len(name) - len(other)) <= _MOST_LETTERS}
    best = min(sorted(near), key=near.__getitem__, default=None)
    return best if best is not None and near[best] <= _MOST_LETTERS < len(best) // 2 else None


def _difference(one: str, other: str) -> int:
    """Return how many letters have to be added, left out, or replaced to make the one of the other (Levenshtein)."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, there in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != there))
    return row[-1]
