# SPDX-License-Identifier: Apache-2.0
"""Properties of a worker for its REST API: where it listens, what its answers have, its limits."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import CompositeValidator, LambdaValidator, Range, ValidList

LISTENERS: Final = "listeners"
ADMIN_LISTENERS: Final = "admin.listeners"
REST_EXTENSIONS: Final = "rest.extension.classes"
RESPONSE_HEADERS: Final = "response.http.headers.config"
ALLOWED_ORIGINS: Final = "access.control.allow.origin"
ALLOWED_METHODS: Final = "access.control.allow.methods"
ALLOWED_HOSTS: Final = "rest.allowed.hosts"
MAX_CONNECTIONS: Final = "rest.max.connections"
MAX_CONNECTIONS_PER_ADDRESS: Final = "rest.max.connections.per.address"
HEADER_TIMEOUT: Final = "rest.header.timeout.ms"
OPEN_HEALTH: Final = "rest.health.unauthenticated"
KEEP_ALIVE: Final = "rest.keep.alive.timeout.ms"
REQUEST_TIMEOUT: Final = "rest.request.timeout.ms"
REQUEST_BYTES: Final = "rest.request.max.bytes"
REQUESTS_BYTES: Final = "rest.requests.max.bytes"
_HOST: Final = re.compile(r"\.?[\w-]+(\.[\w-]+)*\.?|[0-9a-fA-F:]+")
_ACTIONS: Final = {action.lower(): action for action in ("set", "add", "setDate", "addDate")}


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header of all answers. ``replaces``: it replaces other headers of its name.

    ``date``: the value is the time so many milliseconds after the answer.
    """

    replaces: bool
    date: bool
    name: str
    value: str


def header_rules(name: str, text: str) -> list[HeaderRule]:
    """Parse rules, separated by commas; one with a comma in it is in double quotes. Raise ConfigError if malformed."""
    if not text.strip():
        return []
    if not (text.isascii() and text.isprintable()):
        raise ConfigError.invalid(name, text, "headers hold printable characters of ASCII alone")
    return [_rule(name, entry.strip(), text) for entry in next(csv.reader([text], skipinitialspace=True))]


def _rule(property: str, entry: str, text: str) -> HeaderRule:
    first, _, header = entry.partition(" ")
    action = _ACTIONS.get(first.lower())
    name, colon, value = (part.strip() for part in header.partition(":"))
    if action is None:
        raise ConfigError.invalid(property, text, f"'{entry}' begins with none of {', '.join(_ACTIONS.values())}")
    if not colon or not name or " " in name:
        raise ConfigError.invalid(property, text, f"'{entry}' is not written as {action} name:value")
    date = action.endswith("Date")
    if date and not value.removeprefix("-").isdecimal():
        raise ConfigError.invalid(property, text, f"'{entry}' needs milliseconds for its value")
    return HeaderRule(action.startswith("set"), date, name, value)


def _check_listeners(name: str, value: list[str]) -> None:
    if name == LISTENERS and not value:
        raise ConfigError.invalid(name, "", "at least one listener is needed, like http://:8083")
    for listener in value or ():
        try:
            parts = urlsplit(listener)
            usable = parts.scheme.lower() in ("http", "https") and parts.port is not None
        except ValueError:
            usable = False
        if not usable:
            reason = "a listener is written as http://host:port or https://host:port, host may be empty"
            raise ConfigError.invalid(name, listener, reason)


def _check_hosts(name: str, value: list[str]) -> None:
    for host in value:
        if host != "*" and not _HOST.fullmatch(host):
            reason = "a host is a name without scheme and port, .name for all names below it, or * for any"
            raise ConfigError.invalid(name, host, reason)


def _check_header_rules(name: str, value: str) -> None:
    header_rules(name, value)


def _check_scheme(name: str, value: str | None) -> None:
    if value is not None and value.lower() not in ("http", "https"):
        raise ConfigError.invalid(name, value, "one of http, https expected")


def define_rest(definition: ConfigDef) -> ConfigDef:
    """Add the properties of listeners and answers to a worker's definition."""
    low = Importance.LOW
    return (
        definition
        .define(LISTENERS, Type.LIST, "http://:8083", importance=low, doc="Listeners of the REST API.",
                validator=LambdaValidator(_check_listeners, lambda: "http://host:port,..."))
        .define(ADMIN_LISTENERS, Type.LIST, None, importance=low,
                doc="Separate listeners that serve only /admin; by default the other listeners serve it, if empty "
                    "none.",
                validator=LambdaValidator(_check_listeners, lambda: "http://host:port,..."))
        .define(REST_EXTENSIONS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="REST extensions, in the order in which requests pass them.")
        .define(RESPONSE_HEADERS, Type.STRING, "", importance=low,
                validator=LambdaValidator(_check_header_rules, lambda: "action name:value,..."),
                doc="Headers of all answers: set|add|setDate|addDate name:value,...")
        .define(ALLOWED_ORIGINS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Origins whose pages may use the API (CORS); * matches any text.")
        .define(ALLOWED_METHODS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Methods that these pages may use; by default GET, POST and HEAD.")
        .define(ALLOWED_HOSTS, Type.LIST, "", importance=low,
                validator=CompositeValidator(ValidList(), LambdaValidator(_check_hosts, lambda: "name,.name,...")),
                doc="Further host names that requests to the worker may use; .name is all names below it, * any "
                    "name. headrace only.")
        .define("rest.advertised.host.name", Type.STRING, None, importance=low,
                doc="Host at which other workers reach this one.")
        .define("rest.advertised.port", Type.INT, None, importance=low,
                doc="Port at which other workers reach this one.")
        .define("rest.advertised.listener", Type.STRING, None, importance=low, doc="http or https.",
                validator=LambdaValidator(_check_scheme, lambda: "http or https"))
    )  # fmt: skip


def define_rest_limits(definition: ConfigDef) -> ConfigDef:
    """Add those of limits, and of what needs no credentials."""
    low, positive = Importance.LOW, Range.at_least(1)
    return (
        definition
        .define(REQUEST_TIMEOUT, Type.LONG, 90000, importance=low, validator=positive,
                doc="The time in ms after which a request that is not finished is answered with a timeout; the "
                    "change continues. headrace only.")
        .define(REQUEST_BYTES, Type.INT, 16 * 1024 * 1024, importance=low, validator=positive,
                doc="Size of a request's body in bytes above which it is refused. headrace only.")
        .define(REQUESTS_BYTES, Type.LONG, 64 * 1024 * 1024, importance=low, validator=positive,
                doc="Size in bytes of all requests' bodies together, above which further requests are answered 503; "
                    "the largest allowed body is always accepted. headrace only.")
        .define(MAX_CONNECTIONS, Type.INT, 500, importance=low, validator=positive,
                doc="Open connections of the REST API; at the limit, the connection that has waited longest for its "
                    "client is closed. headrace only.")
        .define(MAX_CONNECTIONS_PER_ADDRESS, Type.INT, 250, importance=low, validator=positive,
                doc="The same per address; all clients behind a proxy have one address. headrace only.")
        .define(HEADER_TIMEOUT, Type.LONG, 10000, importance=low, validator=positive,
                doc="The time in ms within which a connection has to send a request's line and headers. headrace only.")
        .define(KEEP_ALIVE, Type.LONG, 30000, importance=low, validator=positive,
                doc="The time in ms for which a connection stays open between two requests; longer than clients keep "
                    "theirs open, because a request that is sent while the worker closes its connection fails. "
                    "headrace only.")
        .define(OPEN_HEALTH, Type.BOOLEAN, False, importance=low,
                doc="Whether GET /health answers requests without credentials, with its status only. headrace only.")
    )  # fmt: skip
