# SPDX-License-Identifier: Apache-2.0
"""Secrets among properties without a definition: options of Spark's readers and writers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.model.cluster_config_state import Config

_OPTION: Final = re.compile(r"spark\.option\..+|transforms\.[^.]+\.table\..+")
"""The options of a connector's format, and of the reference tables of a query."""
_SECRET: Final = re.compile(
    r"password|passwd|passphrase|secret|token|credential|(?:access|account|api|private|encryption|shared)[._-]?key"
    r"|keytab|jaas|\bpwd\b|\bsas\b",
    re.IGNORECASE,
)
_IN_URL: Final = re.compile(r"[?&;,(]([^?&;,()=]+)=([^?&;,()]*)")
_LOG_IN: Final = re.compile(r"//[^/?#@:]*:([^/?#]*)@")
_IN_TABLE: Final = re.compile(r"(?:^|,)([^,:]+):([^,]*)")


def secret_definitions(config: Mapping[str, str]) -> ConfigDef:
    """Return the definition of the options whose whole value is a secret."""
    definition = ConfigDef()
    for name in filter(is_secret, config):
        definition.define(name, Type.PASSWORD, None, importance=Importance.LOW, doc="An option of Spark's, not shown.")
    return definition


def is_secret(name: str) -> bool:
    """Return True if the value of an option with this name is never shown."""
    return _OPTION.fullmatch(name) is not None and _SECRET.search(name.rpartition(".table.")[2]) is not None


def secret_values(config: Config) -> frozenset[str]:
    """Return the texts to hide in any output: values of such options, and secrets within URLs."""
    return frozenset(value for name, text in config.items() if text for value in _values(name, text) if value)


def _values(name: str, text: str) -> Iterator[str]:
    if is_secret(name):
        yield text.strip()
    elif _OPTION.fullmatch(name):
        for pattern in (_IN_URL, _IN_TABLE):
            for option, value in pattern.findall(text):
                if _SECRET.search(option):
                    yield from {value.strip(), unquote(value).strip()}
        for value in _LOG_IN.findall(text):
            yield from {value, unquote(value)}
