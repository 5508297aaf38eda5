# SPDX-License-Identifier: Apache-2.0
"""Properties without effect. They are allowed, for connectors may read what they do not define; most are typos."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from headrace.config.connector_config import LABELS, PLUGIN_VERSION, PREDICATES, TRANSFORMS
from headrace.config.topic_creation import (
    DEFAULT_GROUP,
    IGNORED,
    INCLUDE,
    TOPIC_CREATION,
    named_groups,
    uses_topic_creation,
)
from headrace.herder.client_overrides import CLIENT_PREFIXES
from headrace.herder.enriched_definition import CONVERTERS, aliases
from headrace.model.cluster_config_state import Config

_SPARK_OPTIONS: Final = "spark.option."
_NEAR: Final = 0.75
"""The likeness, of 1, from which a name counts as a misspelling of another one."""


def unknown_keys(config: Config, known: frozenset[str], complete: bool = True) -> Iterator[str]:
    """Yield a line for each property that has no effect by the definitions, with the nearest ``known`` one.

    If these are not ``complete``, the connector may read any property.
    """
    for name in config:
        if name not in known and not _is_free(name, config):
            reason = _reason(name, config) or (_undefined(name, known) if complete else _maybe_misspelt(name, known))
            if reason is not None:
                yield f"{name}: {reason}"


def other_versions(config: Config, versions: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each plugin of which the configuration wants another version than there is.

    ``versions`` has those that there are, by the properties that name the plugins.
    """
    for property, version in versions.items():
        wanted = config.get(f"{property.removesuffix('.class').removesuffix('.type')}.{PLUGIN_VERSION}")
        if wanted and wanted.strip() != version:
            yield f"{property}: version {wanted} is asked for, but {version} is what is installed and used"


def idle_topic_creation(config: Config, enabled: bool) -> Iterator[str]:
    """Yield a line for each topic creation setting of a source connector without any effect (KIP-158)."""
    if not enabled:
        if uses_topic_creation(config):
            yield f"{TOPIC_CREATION}*: without effect, as this worker has topic.creation.enable=false"
        return
    for group in named_groups(config):
        include = f"{TOPIC_CREATION}{group}.{INCLUDE}"
        if not (config.get(include) or "").strip():
            yield f"{include}: it has no pattern, so the group has no topic"


def _is_free(name: str, config: Config) -> bool:
    """Return true if names below its prefix are not defined: those of Kafka's clients and topics, and of Spark."""
    if name in IGNORED:
        return False
    if name == LABELS:
        return True
    groups = [DEFAULT_GROUP, *named_groups(config)]
    tables = (f"{TRANSFORMS}.{alias}.table." for alias in aliases(config, TRANSFORMS))
    return name.startswith(
        (*CLIENT_PREFIXES, _SPARK_OPTIONS, *tables, *(f"{TOPIC_CREATION}{group}." for group in groups))
    )


def _reason(name: str, config: Config) -> str | None:
    if name in IGNORED:
        return "the default group has every topic that no other group has"
    for property in CONVERTERS:
        if name.startswith(f"{property}.") and property not in config:
            return f"it belongs to a {property}, and this connector has the worker's, with the worker's settings"
    for property in (TRANSFORMS, PREDICATES):
        alias = name.removeprefix(f"{property}.").partition(".")[0]
        if name.startswith(f"{property}.") and alias not in aliases(config, property):
            return f"{property} does not list '{alias}'"
    return None


def _undefined(name: str, known: frozenset[str]) -> str:
    near = _nearest(name, known)
    return f"no such property; did you mean '{near}'?" if near else "nothing defines this property"


def _maybe_misspelt(name: str, known: frozenset[str]) -> str | None:
    near = _nearest(name, known)
    return f"did you mean '{near}'? The connector does not say which properties it reads" if near else None


def _nearest(name: str, known: frozenset[str]) -> str | None:
    """Return the name that was probably meant. Not ``a.b`` for ``a.b.c``, which is rather of a group of that name."""
    others = sorted(each for each in known if not name.startswith(f"{each}."))
    return next(iter(difflib.get_close_matches(name, others, 1, _NEAR)), None)
