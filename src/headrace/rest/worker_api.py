# SPDX-License-Identifier: Apache-2.0
"""A worker's REST API put together from its properties: the middleware before the application, and the server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from headrace.config.rest_config import (
    ALLOWED_METHODS,
    ALLOWED_ORIGINS,
    HEADER_TIMEOUT,
    KEEP_ALIVE,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_ADDRESS,
    OPEN_HEALTH,
    REQUESTS_BYTES,
    RESPONSE_HEADERS,
    header_rules,
)
from headrace.config.worker_config import WorkerConfig
from headrace.rest.access.assembly import WorkersAccess
from headrace.rest.middleware.body_limit import BodyBudget, BodyLimit
from headrace.rest.middleware.cors import with_cors
from headrace.rest.middleware.filters import AdminPathFilter, ResponseHeaders, UnauthenticatedHealth
from headrace.rest.middleware.host_check import AllowedHosts, HostCheck, allowed_hosts
from headrace.rest.rest_extensions import RestExtensions
from headrace.rest.server.connection_limits import HttpLimits
from headrace.rest.server.endpoints import Endpoints
from headrace.rest.server.rest_server import RestServer

log = logging.getLogger(__name__)


def worker_api(
    app: ASGIApp,
    endpoints: Endpoints,
    config: WorkerConfig,
    extensions: RestExtensions,
    access: WorkersAccess | None = None,
    check_internal: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    end_requests: Sequence[Callable[[], None]] = (),
) -> RestServer:
    """Return a server of `app` at the endpoints, ready to start. At its end it closes the registered extensions.

    ``access``: authentication and authorization; by default by the properties, for a worker without a group.
    ``check_internal`` wraps the application in the check of inter-worker requests, before bodies are read.
    ``end_requests`` have the requests that take long answer, and what they began end, when the server begins to stop.
    """
    access = access or WorkersAccess(config)

    def protect(app: ASGIApp) -> ASGIApp:
        return access.wrap(check_internal(app), urlsplit(endpoints.advertised_url).netloc)

    wrap = _middleware(config, allowed_hosts(config, endpoints), extensions, protect)
    separate = config.admin_listeners is not None
    if endpoints.listeners.admin_url:
        log.info("/admin is served at %s", endpoints.listeners.admin_url)

    def on_stop() -> None:
        extensions.close()
        access.close()

    return RestServer(
        wrap(AdminPathFilter(app, admin=False) if separate else app),
        endpoints.listeners,
        admin_app=wrap(AdminPathFilter(app, admin=True)) if config.admin_listeners else None,
        tls=endpoints.tls,
        limits=_http_limits(config),
        end_requests=end_requests,
        on_stop=on_stop,
    )


def _middleware(
    config: WorkerConfig,
    hosts: AllowedHosts,
    extensions: RestExtensions,
    protect: Callable[[ASGIApp], ASGIApp],
) -> Callable[[ASGIApp], ASGIApp]:
    """Return a function that wraps applications; a request passes the middleware from the last line to the first.

    ``protect`` wraps in access control and in the check of inter-worker requests. Bodies are read only after the
    extensions, the rules and that check have accepted a request. A browser's CORS preflight request comes without
    credentials, so CORS is before these; the check of the Host is before CORS; the response headers are for all
    answers.
    """
    budget = BodyBudget(max(config.get(REQUESTS_BYTES), config.rest_request_max_bytes))
    rules = header_rules(RESPONSE_HEADERS, config.get(RESPONSE_HEADERS))

    def wrap(app: ASGIApp) -> ASGIApp:
        limit = BodyLimit(app, config.rest_request_max_bytes, config.rest_request_timeout, budget)
        inner = extensions.wrap(protect(limit))
        if config.get(OPEN_HEALTH):
            inner = UnauthenticatedHealth(inner, app)
        inner = with_cors(inner, config.get(ALLOWED_ORIGINS), config.get(ALLOWED_METHODS))
        inner = HostCheck(inner, hosts)
        return ResponseHeaders(inner, rules) if rules else inner

    return wrap


def _http_limits(config: WorkerConfig) -> HttpLimits:
    return HttpLimits(
        config.get(MAX_CONNECTIONS),
        config.get(MAX_CONNECTIONS_PER_ADDRESS),
        config.seconds(HEADER_TIMEOUT),
        config.rest_request_timeout,
        config.seconds(KEEP_ALIVE),
    )
