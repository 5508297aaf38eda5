# SPDX-License-Identifier: Apache-2.0
"""`headrace distributed`: a worker of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.protected_files import protect
from headrace.cli.console import use_log_format
from headrace.cli.worker_process import WorkerProcess, leave_no_core_dumps, resolved_properties
from headrace.config.distributed_config import DistributedConfig
from headrace.config.properties_file import read_properties
from headrace.config.worker_files import worker_files
from headrace.logs.loggers import Loggers
from headrace.rest.server.endpoints import Endpoints

if TYPE_CHECKING:
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher


def run_distributed_worker(worker_properties: Path) -> int:
    """Run the worker until it has stopped; return the exit code. Raise ConfigError for invalid properties.

    The sockets are bound before the slow imports, so that clients need not retry.
    """
    leave_no_core_dumps()
    with resolved_properties(read_properties(worker_properties)) as properties:
        config = DistributedConfig(properties)
        use_log_format(config.log_format)
        endpoints = Endpoints.open(config)
        try:
            return _serve(config, endpoints, worker_properties)
        finally:
            endpoints.close()


def _serve(config: DistributedConfig, endpoints: Endpoints, worker_properties: Path) -> int:
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher

    loggers = Loggers()
    launcher = SparkTaskLauncher(config.engine, loggers)
    protect((*worker_files(config, worker_properties), launcher.directory))
    try:
        launcher.prepare()
        return _worker(config, endpoints, launcher, loggers).run()
    except BaseException:
        launcher.stop(0)  # no effect if it was stopped in order
        raise


def _worker(
    config: DistributedConfig, endpoints: Endpoints, launcher: SparkTaskLauncher, loggers: Loggers
) -> WorkerProcess:
    """Put the worker together; slow imports are here, so that they run while Spark starts."""
    from headrace.distributed.assembly import distributed_herder
    from headrace.plugins.discovery import plugins_of
    from headrace.rest.access.assembly import WorkersAccess
    from headrace.rest.access.forwarded_user import ForwardedUsers
    from headrace.rest.app import OtherWorkers, create_app
    from headrace.rest.internal_request_signature import SignatureVerifier
    from headrace.rest.leader_client import LeaderClient
    from headrace.rest.middleware.filters import InternalRequestCheck
    from headrace.rest.rest_client import RestClient
    from headrace.rest.rest_extensions import RestExtensions
    from headrace.rest.worker_api import worker_api

    plugins, timeout = plugins_of(config.raw), config.rest_request_timeout
    extensions = RestExtensions(config, plugins)
    client = RestClient(endpoints.tls.client)
    leader = LeaderClient(client, config.signature_algorithm, timeout)
    herder = distributed_herder(config, plugins, launcher, endpoints.advertised_url, leader, loggers=loggers)
    extensions.register(herder)
    verifier = SignatureVerifier(config.verification_algorithms)
    users = ForwardedUsers(herder, config.signature_algorithm, verifier)
    others = OtherWorkers(herder, client, verifier, users.headers)
    app = create_app(herder, request_timeout=timeout, others=others, loggers=loggers, engine_failure=launcher.trouble)
    access = WorkersAccess(config, users)
    server = worker_api(
        app, endpoints, config, extensions, access, lambda app: InternalRequestCheck(app, herder, verifier)
    )
    return WorkerProcess(herder, server, endpoints.listeners.local_url, config)
