# SPDX-License-Identifier: Apache-2.0
"""The REST application: every resource over one herder, every error in one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from headrace import __version__
from headrace.api.errors import ConnectError
from headrace.console.router import console_router
from headrace.herder.errors import NotLeaderError
from headrace.herder.herder import ClusterHerder, Herder
from headrace.inspection.inspections import Inspections
from headrace.logs.loggers import Loggers
from headrace.metrics.jmx_naming import STRIMZI, Naming
from headrace.rest.access.forwarded_user import Sign
from headrace.rest.access.hidden_secrets import HiddenSecrets
from headrace.rest.api_description import describe, operation_id
from headrace.rest.connector_watch import ConnectorWatch
from headrace.rest.event_streams import EventStreams
from headrace.rest.exception_mapper import error_response, on_connect_error, on_http_error, on_unexpected_error
from headrace.rest.herder_request_handler import REQUEST_TIMEOUT_SECONDS, RequestForwarder, RequestHandler
from headrace.rest.internal_request_signature import SignatureVerifier
from headrace.rest.raw_path import RawPathMiddleware
from headrace.rest.resources.changes_resource import changes_router
from headrace.rest.resources.connector_logs_resource import connector_logs_router
from headrace.rest.resources.connector_offsets_resource import connector_offsets_router
from headrace.rest.resources.connector_plugins_resource import connector_plugins_router
from headrace.rest.resources.connector_topics_resource import connector_topics_router
from headrace.rest.resources.connector_views import ConnectorViews
from headrace.rest.resources.connectors_resource import connectors_router
from headrace.rest.resources.dead_letters_resource import dead_letters_router
from headrace.rest.resources.events_resource import events_router
from headrace.rest.resources.internal_resource import internal_router
from headrace.rest.resources.loggers_resource import loggers_router
from headrace.rest.resources.previews_resource import previews_router
from headrace.rest.resources.root_resource import (
    HEALTH_TIMEOUT_SECONDS,
    health_router,
    history_router,
    metrics_router,
    root_router,
)
from headrace.rest.resources.workers_resource import workers_router
from headrace.rest.rest_client import RestClient
from headrace.rest.routing import check_content_type
from headrace.telemetry.tracing import NO_TRACING, Tracing

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig


@dataclass(frozen=True, slots=True)
class OtherWorkers:
    """The requirements of a grouped worker's API, beside its herder."""

    herder: ClusterHerder
    client: RestClient
    verifier: SignatureVerifier
    sign: Sign | None = None
    """Makes the headers that name the user of a forwarded request."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """The parts of a worker by which operators watch it.

    ``loggers`` are those that ``/admin/loggers`` changes. For ``/health``, ``engine_failure`` returns the reason why
    the worker cannot run tasks, and ``warning`` anything else that is wrong; both return None if all is well.
    ``namings`` make the names of metrics. ``tracing`` records a span for each request that is not refused before.
    """

    loggers: Loggers = field(default_factory=Loggers)
    engine_failure: Callable[[], str | None] = lambda: None
    warning: Callable[[], str | None] = lambda: None
    namings: Sequence[Naming] = STRIMZI
    tracing: Tracing = NO_TRACING


def create_app(
    herder: Herder,
    *,
    request_timeout: float = REQUEST_TIMEOUT_SECONDS,
    others: OtherWorkers | None = None,
    monitoring: Monitoring | None = None,
    inspections: Inspections | None = None,
    streams: EventStreams | None = None,
) -> FastAPI:
    """Return the API over `herder`; requests that change something may take `request_timeout` seconds.

    With `others` it serves other workers too, and forwards to the group's leader the requests that only that can serve.
    `inspections` serve what concerns records, dead letters and log lines; by default only previews are served.
    `streams` are those of events, which the caller closes when the server begins to stop.
    """
    watched = monitoring or Monitoring()
    app = _application(watched.tracing)
    served = inspections or Inspections()
    handler = RequestHandler(herder, request_timeout)
    app.include_router(connectors_router(herder, handler))
    app.include_router(connector_offsets_router(herder, handler))
    app.include_router(connector_plugins_router(herder, handler))
    _include_inspections(app, served, herder, handler)
    app.include_router(loggers_router(watched.loggers, herder, handler))
    health_timeout = min(request_timeout, HEALTH_TIMEOUT_SECONDS)
    app.include_router(health_router(herder, health_timeout, watched.engine_failure, warning=watched.warning))
    app.include_router(metrics_router(herder, watched.namings))
    app.include_router(history_router(herder, handler))
    app.include_router(workers_router(herder, handler))
    watch = ConnectorWatch(ConnectorViews(herder, handler, HiddenSecrets(herder, handler)))
    app.include_router(events_router(streams or EventStreams(), watch.look))
    app.include_router(root_router(herder))
    app.include_router(console_router())
    if others is not None:
        app.include_router(internal_router(others.herder, handler, others.verifier, served.logs, served.changes))
        forwarder = RequestForwarder(others.client, request_timeout, others.sign)
        app.add_exception_handler(NotLeaderError, forwarder.on_not_leader)
    return app


def _include_inspections(app: FastAPI, served: Inspections, herder: Herder, handler: RequestHandler) -> None:
    hidden = HiddenSecrets(herder, handler)
    if served.topics is not None:
        app.include_router(connector_topics_router(served.topics, hidden))
    if served.logs is not None:
        app.include_router(connector_logs_router(served.logs, hidden))
    if served.changes is not None:
        app.include_router(changes_router(served.changes))
    app.include_router(dead_letters_router(herder, handler, served.dead_letters))
    app.include_router(previews_router(herder, handler, served))


def _application(tracing: Tracing) -> FastAPI:
    """Return an application without routes, with the error handlers."""
    # An older FastAPI without traces of its own has no such parameter.
    traced: dict[str, Any] = {} if tracing.provider is None else {"telemetry": _telemetry(tracing)}
    app = FastAPI(
        title="headrace",
        version=__version__,
        redirect_slashes=False,
        # FastAPI's own pages load scripts from elsewhere; the console has one of ours.
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=operation_id,
        dependencies=[Depends(check_content_type)],
        exception_handlers={
            ConnectError: on_connect_error,
            HTTPException: on_http_error,
            RequestValidationError: _on_validation_error,
            Exception: on_unexpected_error,
        },
        **traced,
    )
    describe(app)
    app.add_middleware(RawPathMiddleware)
    return app


def _telemetry(tracing: Tracing) -> TelemetryConfig:
    return {
        "tracer_provider": tracing.provider,
        "metrics": False,
        "logs": False,
        "operation_spans": False,
        "auto_configure": False,
    }


async def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
    return error_response(400, found)
