# SPDX-License-Identifier: Apache-2.0
"""The plugins that a connector's configuration names, with the prefixes of their properties. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.model.cluster_config_state import Config

CLASS: Final = "connector.class"
CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
_LISTS: Final = ("transforms", "predicates")


def steps_of(config: Config) -> tuple[str, ...]:
    """Return the prefixes of the listed transformations' and predicates' properties, without the final dot."""
    return tuple(f"{kind}.{name.strip()}" for kind in _LISTS for name in (config.get(kind) or "").split(","))


def configured_plugins(config: Config) -> Iterator[tuple[str, str]]:
    """Yield the class of each plugin that is named, and the prefix of its properties in ``config``."""
    prefixes = {CLASS: "", **{name: f"{name}." for name in CONVERTERS}}
    prefixes |= {f"{step}.type": f"{step}." for step in steps_of(config)}
    for name, prefix in prefixes.items():
        if plugin := (config.get(name) or "").strip():
            yield plugin, prefix
