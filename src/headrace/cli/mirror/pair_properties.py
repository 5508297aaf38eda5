# SPDX-License-Identifier: Apache-2.0
"""The properties of the headrace worker that mirrors one pair of clusters. Pure."""

from __future__ import annotations

from typing import Final

from headrace.api.errors import ConfigError
from headrace.cli.mirror.mirror_config import MirrorConfig, Pair
from headrace.config.override_policy import POLICY_PROPERTY
from headrace.config.rest_config import ADMIN_LISTENERS, LISTENERS
from headrace.rest.server.listeners import Listener

_ADVERTISED: Final = "rest.advertised."
_ADVERTISED_PORT: Final = f"{_ADVERTISED}port"
_REST: Final = (_ADVERTISED, "listeners.https.", "ssl.client.auth", "rest.allowed.hosts")
_OURS: Final = ("spark.", "java.", "log.", "plugin.path")
"""The beginnings of names that only headrace has; they count for all workers, a cluster's own count more."""
_OF_CONNECTORS: Final = ("tasks.max", "replication.policy")
"""The beginnings of names that Java gives to workers too, where they have no effect."""
_DEFAULT_LISTENERS: Final = "http://:8083"
_LOOPBACK: Final = "http://127.0.0.1:0"
_NOWHERE: Final = "internal-rest-is-disabled.invalid"
"""The host that is advertised to other nodes without internal REST; names below .invalid never exist (RFC 2606)."""


def worker_properties(config: MirrorConfig, pair: Pair) -> dict[str, str]:
    """Return all properties of the pair's worker. Raise ConfigError for a listener that is not written as a URL.

    Each worker has a listener of its own: that of pair number n, from 0 on, is n ports above the one of the file.
    """
    defaults = {name: text for name, text in config.properties.items() if name.startswith(_OURS)}
    rest = _internal_rest(config, pair) if config.internal_rest else _no_rest()
    worker = {name: text for name, text in config.worker_config(pair).items() if not name.startswith(_OF_CONNECTORS)}
    return {**defaults, **worker, POLICY_PROPERTY: "All", ADMIN_LISTENERS: "", **rest}


def _no_rest() -> dict[str, str]:
    return {LISTENERS: _LOOPBACK, f"{_ADVERTISED}host.name": _NOWHERE}


def _internal_rest(config: MirrorConfig, pair: Pair) -> dict[str, str]:
    number = config.all_pairs().index(pair)
    found = {name: text for name, text in config.properties.items() if name.startswith(_REST)}
    listeners = (config.resolved.get(LISTENERS) or _DEFAULT_LISTENERS).split(",")
    found[LISTENERS] = ",".join(_moved(listener.strip(), number) for listener in listeners)
    if _ADVERTISED_PORT in found:
        found[_ADVERTISED_PORT] = str(_port(config.resolved[_ADVERTISED_PORT] or "") + number)
    return found


def _port(text: str) -> int:
    if not text.strip().isdecimal():
        raise ConfigError.invalid(_ADVERTISED_PORT, text, "a port's number expected")
    return int(text)


def _moved(listener: str, by: int) -> str:
    """Return the listener so many ports higher; port 0, any free one, stays."""
    parsed = Listener.parse(listener)
    host = f"[{parsed.host}]" if ":" in parsed.host else parsed.host
    return f"{parsed.scheme}://{host}:{parsed.port + by if parsed.port else 0}"
