# SPDX-License-Identifier: Apache-2.0
"""Properties of a worker for the limits of its REST API, and for the part of it that needs no credentials."""

from __future__ import annotations

from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.validators import Range

MAX_CONNECTIONS: Final = "rest.max.connections"
MAX_CONNECTIONS_PER_ADDRESS: Final = "rest.max.connections.per.address"
HEADER_TIMEOUT: Final = "rest.header.timeout.ms"
OPEN_HEALTH: Final = "rest.health.unauthenticated"
KEEP_ALIVE: Final = "rest.keep.alive.timeout.ms"
REQUEST_TIMEOUT: Final = "rest.request.timeout.ms"
REQUEST_BYTES: Final = "rest.request.max.bytes"
REQUESTS_BYTES: Final = "rest.requests.max.bytes"


def define_rest_limits(definition: ConfigDef) -> ConfigDef:
    """Add these properties to a worker's definition."""
    low, positive = Importance.LOW, Range.at_least(1)
    return (
        definition
        .define(REQUEST_TIMEOUT, Type.LONG, 90000, importance=low, validator=positive,
                doc="How long a request may take before it is answered that it takes longer. headrace only.")
        .define(REQUEST_BYTES, Type.INT, 16 * 1024 * 1024, importance=low, validator=positive,
                doc="Size of a request's body above which it is refused. headrace only.")
        .define(REQUESTS_BYTES, Type.LONG, 64 * 1024 * 1024, importance=low, validator=positive,
                doc="What the bodies of all requests may take together, above which further ones are asked to come "
                    "again; the largest that is allowed always fits. headrace only.")
        .define(MAX_CONNECTIONS, Type.INT, 500, importance=low, validator=positive,
                doc="Connections that the REST API has at once; beyond, the one that has waited longest for its "
                    "client makes room. headrace only.")
        .define(MAX_CONNECTIONS_PER_ADDRESS, Type.INT, 250, importance=low, validator=positive,
                doc="The same of one address; a proxy before the worker is one. headrace only.")
        .define(HEADER_TIMEOUT, Type.LONG, 10000, importance=low, validator=positive,
                doc="How long a connection may take to send a request's line and headers. headrace only.")
        .define(KEEP_ALIVE, Type.LONG, 30000, importance=low, validator=positive,
                doc="How long a connection stays open between two requests; longer than clients keep theirs, as one "
                    "that is closed while a request is on its way fails it. headrace only.")
        .define(OPEN_HEALTH, Type.BOOLEAN, False, importance=low,
                doc="Whether GET /health tells its status, and that alone, to whoever asks without credentials. "
                    "headrace only.")
    )  # fmt: skip
