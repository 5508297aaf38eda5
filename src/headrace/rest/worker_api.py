# SPDX-License-Identifier: Apache-2.0
"""Puts a worker's REST API together from its properties: what stands before the application, and a server."""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.types import ASGIApp

from headrace.config.header_rules import header_rules
from headrace.config.rest_limits import (
    HEADER_TIMEOUT,
    KEEP_ALIVE,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_ADDRESS,
    OPEN_HEALTH,
    REQUESTS_BYTES,
)
from headrace.config.worker_config import ALLOWED_METHODS, ALLOWED_ORIGINS, RESPONSE_HEADERS, WorkerConfig
from headrace.rest.access.assembly import WorkersAccess
from headrace.rest.admin_paths import AdminPaths
from headrace.rest.body_limit import BodyBudget, BodyLimit
from headrace.rest.connection_limits import HttpLimits
from headrace.rest.cors import with_cors
from headrace.rest.endpoints import Endpoints
from headrace.rest.known_hosts import KnownHostsOnly, known_hosts
from headrace.rest.open_health import OpenHealth
from headrace.rest.response_headers import ResponseHeaders
from headrace.rest.rest_extensions import RestExtensions
from headrace.rest.server import RestServer

log = logging.getLogger(__name__)


def worker_api(
    app: ASGIApp,
    endpoints: Endpoints,
    config: WorkerConfig,
    extensions: RestExtensions,
    access: WorkersAccess | None = None,
    gate: Callable[[ASGIApp], ASGIApp] = lambda app: app,
) -> RestServer:
    """A server of `app` at the endpoints, ready to start. It closes the registered extensions at its end.

    ``access``: who may do what; by default as the properties say for a worker that is alone. ``gate`` is put before
    what reads bodies: middleware that lets requests between workers pass, or not.
    """
    access = access or WorkersAccess(config)

    def close() -> None:
        extensions.close()
        access.close()

    def guarded(inner: ASGIApp) -> ASGIApp:
        """What a request passes on its way in, read from the last line to the first.

        Bodies are read for those alone whom the extensions, the rules and the gate let pass; a browser asks without
        credentials whether a page may use the API (CORS), and other sites' pages may not, by whatever name; the headers
        are for all answers.
        """
        api, inner = inner, gate(BodyLimit(inner, config.rest_request_max_bytes, config.rest_request_timeout, budget))
        inner = extensions.around(access.around(inner))
        if config.get(OPEN_HEALTH):
            inner = OpenHealth(inner, api)
        inner = with_cors(inner, config.get(ALLOWED_ORIGINS), config.get(ALLOWED_METHODS))
        inner = KnownHostsOnly(inner, hosts)
        return ResponseHeaders(inner, rules) if rules else inner

    hosts = known_hosts(config, endpoints)
    budget = BodyBudget(max(config.get(REQUESTS_BYTES), config.rest_request_max_bytes))
    rules = header_rules(RESPONSE_HEADERS, config.get(RESPONSE_HEADERS))
    separate = config.admin_listeners is not None
    if endpoints.listeners.admin_url:
        log.info("/admin is served at %s", endpoints.listeners.admin_url)
    return RestServer(
        guarded(AdminPaths(app, admin=False) if separate else app),
        endpoints.listeners,
        admin_app=guarded(AdminPaths(app, admin=True)) if config.admin_listeners else None,
        tls=endpoints.tls,
        limits=_http_limits(config),
        closing=close,
    )


def _http_limits(config: WorkerConfig) -> HttpLimits:
    return HttpLimits(
        config.get(MAX_CONNECTIONS),
        config.get(MAX_CONNECTIONS_PER_ADDRESS),
        config.seconds(HEADER_TIMEOUT),
        config.rest_request_timeout,
        config.seconds(KEEP_ALIVE),
    )
