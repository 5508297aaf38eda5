# SPDX-License-Identifier: Apache-2.0
"""Secrets among properties without a definition: options of Spark's readers and writers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.config.secret_properties import REFERENCE, is_secret_name
from headrace.model.cluster_config_state import Config

_OPTION: Final = re.compile(r"spark\.option\..+|transforms\.[^.]+\.table\..+")
"""The options of a connector's format, and of the reference tables of a query."""
_IN_URL: Final = re.compile(r"[?&;,(]([^?&;,()=]+)=([^?&;,()]*)")
_LOG_IN: Final = re.compile(r"//[^/?#@:]*:([^/?#]*)@")
_IN_TABLE: Final = re.compile(r"(?:^|,)([^,:]+):([^,]*)")
_GAP: Final = "\0"
"""Stands for a reference."""
_DISTINCTIVE: Final = 8
"""Characters."""


def secret_definitions(config: Mapping[str, str]) -> ConfigDef:
    """Return the definition of the options whose whole value is a secret."""
    definition = ConfigDef()
    for name in filter(is_secret, config):
        definition.define(name, Type.PASSWORD, None, importance=Importance.LOW, doc="An option of Spark's, not shown.")
    return definition


def is_secret(name: str) -> bool:
    """Return True if the value of an option with this name is never shown."""
    return _OPTION.fullmatch(name) is not None and is_secret_name(name.rpartition(".table.")[2])


def secret_values(config: Config) -> frozenset[str]:
    """Return the texts to hide in any output: values of such options, and secrets within URLs.

    References are not hidden, and of what is written beside them only what is long enough to be distinctive.
    """
    found = (value.split(_GAP) for name, text in config.items() if text for value in _values(name, text))
    return frozenset(
        part for parts in found for part in parts if part and (len(parts) == 1 or len(part) >= _DISTINCTIVE)
    )


def _values(name: str, text: str) -> Iterator[str]:
    text = REFERENCE.sub(_GAP, text)
    if is_secret(name):
        yield text.strip()
    elif _OPTION.fullmatch(name):
        for pattern in (_IN_URL, _IN_TABLE):
            for option, value in pattern.findall(text):
                if is_secret_name(option):
                    yield from {value.strip(), unquote(value).strip()}
        for value in _LOG_IN.findall(text):
            yield from {value, unquote(value)}
