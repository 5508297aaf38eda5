# SPDX-License-Identifier: Apache-2.0
"""Definitions of the client properties that a connector overrides. Java: ``AbstractHerder.validateClientOverrides``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from headrace.api.config_def import NO_DEFAULT, ConfigDef, ConfigKey, Importance, Type
from headrace.config.override_policy import overrides_of
from headrace.kafka.clients.client_definitions import NONE, REQUIRED, TABLE

_CLIENTS: Final = ("producer", "admin", "consumer")
_DEFAULTS: Final[Mapping[str, object]] = {NONE: None, REQUIRED: NO_DEFAULT}


def override_definitions(config: Mapping[str, str]) -> ConfigDef:
    """Return definitions of the properties that ``config`` overrides and Java's clients have.

    Others are shown without a definition.
    """
    definition = ConfigDef()
    for client in _CLIENTS:
        for name in overrides_of(config, client):
            if (client, name) in _keys():
                definition.define_key(_keys()[client, name])
    return definition


@cache
def _keys() -> Mapping[tuple[str, str], ConfigKey]:
    return dict(_parsed())


def _parsed() -> Iterator[tuple[tuple[str, str], ConfigKey]]:
    for line in TABLE.splitlines():
        clients, name, type, importance, *rest = line.split(" ", 4)
        default = _DEFAULTS.get("".join(rest), "".join(rest))
        for client in (each for each in _CLIENTS if each[0] in clients):
            full = f"{client}.override.{name}"
            doc = f"The property {name} of the connector's {client}, as Apache Kafka documents it."
            # Defaults stay texts: they are shown only, and classes among them are Java's.
            key = ConfigKey(full, Type(type), default, Importance(importance), doc, display_name=name)
            yield (client, name), key
