# SPDX-License-Identifier: Apache-2.0
"""`headrace distributed`: a worker of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from headrace.api.protected_files import protect
from headrace.cli.console import use_log_format
from headrace.cli.stop_signals import StopSignals, run_until_stopped
from headrace.cli.worker_process import (
    CheckedParts,
    WorkerProcess,
    check_java,
    check_temporary_directory,
    leave_no_core_dumps,
    resolved_properties,
    worker_files,
)
from headrace.cli.worker_properties import check_worker_properties, log_unused_properties
from headrace.config.distributed_config import DistributedConfig
from headrace.config.properties_file import read_properties
from headrace.logs.loggers import Loggers
from headrace.rest.server.endpoints import Endpoints

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from headrace.distributed.distributed_herder import DistributedHerder
    from headrace.herder.cluster_changes import ChangeQuery
    from headrace.herder.connector_logs import LogQuery
    from headrace.herder.engine.herder_services import LeaderRequests
    from headrace.inspection.inspections import Inspections
    from headrace.rest.leader_client import LeaderClient
    from headrace.rest.rest_client import RestClient
    from headrace.rest.server.rest_server import RestServer
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher


@dataclass(frozen=True, slots=True)
class Variant:
    """The differences of a worker from that of `headrace distributed`.

    ``restrict`` wraps the REST API. ``leader`` sends requests to other workers; None: over HTTP, to their advertised
    URLs. ``begin`` starts work once Kafka is reachable; the worker is ready when its future ends.
    """

    restrict: Callable[[ASGIApp], ASGIApp] = lambda app: app
    leader: LeaderRequests | None = None
    begin: Callable[[DistributedHerder, str], Future[None]] | None = None


_USUAL: Final = Variant()


def run_distributed_worker(worker_properties: Path) -> int:
    """Run the worker until it has stopped; return the exit code. Raise ConfigError for invalid properties.

    The sockets are bound before the slow imports, so that clients need not retry.
    """
    return run_until_stopped(lambda signals: run_worker(read_properties(worker_properties), worker_properties, signals))


def run_worker(given: Mapping[str, str], file: Path, signals: StopSignals, variant: Variant = _USUAL) -> int:
    """Run a worker with these properties, which ``file`` has, as `run_distributed_worker`."""
    leave_no_core_dumps()
    with resolved_properties(given) as properties:
        check_worker_properties(DistributedConfig, properties)
        config = DistributedConfig(properties)
        use_log_format(config.log_format)
        log_unused_properties(config)
        endpoints = Endpoints.open(config)
        try:
            return _serve(config, endpoints, file, signals, variant)
        finally:
            endpoints.close()


def _serve(config: DistributedConfig, endpoints: Endpoints, file: Path, signals: StopSignals, variant: Variant) -> int:
    check_java()
    check_temporary_directory()
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher

    loggers = Loggers()
    launcher = SparkTaskLauncher(config.engine, loggers)
    try:
        protect((*worker_files(config, file), launcher.directory))
        parts = CheckedParts.of(config, endpoints.advertised_url)
        launcher.prepare()
        try:
            return _worker(config, endpoints, parts, launcher, loggers, variant).run(signals)
        finally:
            parts.close()
    except BaseException:
        launcher.stop(0)  # no effect if it was stopped in order
        raise


def _worker(
    config: DistributedConfig,
    endpoints: Endpoints,
    parts: CheckedParts,
    launcher: SparkTaskLauncher,
    loggers: Loggers,
    variant: Variant,
) -> WorkerProcess:
    """Put the worker together; slow imports are here, so that they run while Spark starts."""
    from headrace.distributed.assembly import distributed_herder
    from headrace.worker.tasks.traced_launcher import with_traces

    requests = _WorkerRequests.of(config, endpoints, parts)
    herder = distributed_herder(
        config,
        parts.plugins,
        with_traces(launcher, parts.tracing),
        endpoints.advertised_url,
        variant.leader or requests.leader,
        loggers=loggers,
        tracing=parts.tracing,
    )
    parts.extensions.register(herder)
    parts.observe(herder, config.bootstrap_servers)
    server = _rest_server(config, endpoints, parts, requests, _Served(herder, launcher, loggers), variant)
    begin, name = variant.begin, _network_location(endpoints)
    return WorkerProcess(
        herder,
        server,
        endpoints.listeners.local_url,
        config,
        None if begin is None else lambda: begin(herder, name),
    )


@dataclass(frozen=True, slots=True)
class _WorkerRequests:
    """Clients for requests to other workers."""

    client: RestClient
    leader: LeaderClient

    @classmethod
    def of(cls, config: DistributedConfig, endpoints: Endpoints, parts: CheckedParts) -> _WorkerRequests:
        from headrace.rest.leader_client import LeaderClient
        from headrace.rest.rest_client import RestClient

        client = RestClient(endpoints.tls.client, parts.tracing.outgoing_headers)
        return cls(client, LeaderClient(client, config.signature_algorithm, config.rest_request_timeout))


@dataclass(frozen=True, slots=True)
class _Served:
    """The parts of the worker that its REST API serves."""

    herder: DistributedHerder
    launcher: SparkTaskLauncher
    loggers: Loggers


def _rest_server(
    config: DistributedConfig,
    endpoints: Endpoints,
    parts: CheckedParts,
    requests: _WorkerRequests,
    served: _Served,
    variant: Variant,
) -> RestServer:
    """Return the server of the REST API, which accepts requests of other workers that they have signed."""
    from headrace.metrics.jmx_naming import NAMINGS
    from headrace.rest.access.forwarded_user import ForwardedUsers
    from headrace.rest.app import Monitoring, OtherWorkers, create_app
    from headrace.rest.event_streams import EventStreams
    from headrace.rest.internal_request_signature import SignatureVerifier
    from headrace.rest.middleware.filters import InternalRequestCheck
    from headrace.rest.worker_api import worker_api

    herder = served.herder
    verifier = SignatureVerifier(config.verification_algorithms)
    users = ForwardedUsers(herder, config.signature_algorithm, verifier)
    inspections, streams = _inspections(config, endpoints, parts, requests.leader, served), EventStreams()
    app = create_app(
        herder,
        request_timeout=config.rest_request_timeout,
        others=OtherWorkers(herder, requests.client, verifier, users.headers),
        monitoring=Monitoring(
            served.loggers,
            served.launcher.trouble,
            namings=NAMINGS[config.metrics_naming],
            tracing=parts.tracing,
        ),
        inspections=inspections,
        streams=streams,
    )
    parts.access.accept_forwarded(users)
    return worker_api(
        variant.restrict(app),
        endpoints,
        config,
        parts.extensions,
        parts.access,
        lambda app: InternalRequestCheck(app, herder, verifier),
        (streams.close, inspections.close),
    )


def _inspections(
    config: DistributedConfig, endpoints: Endpoints, parts: CheckedParts, leader: LeaderClient, served: _Served
) -> Inspections:
    """Return the inspections, which request log lines from the other workers by the scheme of the own URL."""
    others = _Others(leader, urlsplit(endpoints.advertised_url).scheme, served.herder)
    return parts.inspections(
        served.herder, config, _network_location(endpoints), served.launcher.preview_frames, others
    )


@dataclass(frozen=True, slots=True)
class _Others:
    """Implements ``AskOthers``: a worker is known by its id alone, the host:port in statuses."""

    client: LeaderClient
    scheme: str
    herder: DistributedHerder

    def log_lines(self, worker: str, query: LogQuery) -> dict[str, Any]:
        return self.client.log_lines(f"{self.scheme}://{worker}", query, self.herder.session_key())

    def changes(self, worker: str, query: ChangeQuery) -> dict[str, Any]:
        return self.client.changes(f"{self.scheme}://{worker}", query, self.herder.session_key())


def _network_location(endpoints: Endpoints) -> str:
    return urlsplit(endpoints.advertised_url).netloc
