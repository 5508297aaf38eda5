# SPDX-License-Identifier: Apache-2.0
"""`headrace standalone`: a worker of its own, with its connectors from files. Java: ``ConnectStandalone``."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence, Set
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.protected_files import protect
from headrace.cli.connector_files import ConnectorFile, read_connector_files
from headrace.cli.console import use_log_format
from headrace.cli.worker_process import WorkerProcess, leave_no_core_dumps, resolved_properties
from headrace.config.properties_file import read_properties
from headrace.config.standalone_config import StandaloneConfig
from headrace.config.worker_files import worker_files
from headrace.logs.loggers import Loggers
from headrace.rest.server.endpoints import Endpoints
from headrace.worker.stages import Stages

if TYPE_CHECKING:
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher
    from headrace.standalone.standalone_herder import StandaloneHerder

log = logging.getLogger(__name__)


def run_standalone_worker(worker_properties: Path, connectors: Sequence[Path]) -> int:
    """Run the worker until it has stopped; return the exit code. Raise ConfigError for invalid properties and files.

    As in Kafka Connect, a connector that cannot be created or started ends the worker.
    """
    files = read_connector_files(connectors)
    leave_no_core_dumps()
    with resolved_properties(read_properties(worker_properties)) as properties:
        config = StandaloneConfig(properties)
        use_log_format(config.log_format)
        endpoints = Endpoints.open(config)
        try:
            own = worker_files(config, worker_properties, config.offsets_file, *connectors)
            return _serve(config, endpoints, files, own)
        finally:
            endpoints.close()


def _serve(config: StandaloneConfig, endpoints: Endpoints, files: Sequence[ConnectorFile], own: Set[str]) -> int:
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher

    loggers = Loggers()
    launcher = SparkTaskLauncher(config.engine, loggers)
    protect((*own, launcher.directory))
    try:
        launcher.prepare()
        return _worker(config, endpoints, launcher, loggers, files).run()
    except BaseException:
        launcher.stop(0)  # no effect if it was stopped in order
        raise


def _worker(
    config: StandaloneConfig,
    endpoints: Endpoints,
    launcher: SparkTaskLauncher,
    loggers: Loggers,
    files: Sequence[ConnectorFile],
) -> WorkerProcess:
    """Put the worker together; slow imports are here, so that they run while Spark starts."""
    from headrace.plugins.discovery import plugins_of
    from headrace.rest.app import create_app
    from headrace.rest.rest_extensions import RestExtensions
    from headrace.rest.worker_api import worker_api
    from headrace.standalone.assembly import standalone_herder

    plugins = plugins_of(config.raw)
    extensions = RestExtensions(config, plugins)
    herder = standalone_herder(config, plugins, launcher, endpoints.advertised_url, loggers=loggers)
    extensions.register(herder)
    timeout = config.rest_request_timeout
    app = create_app(
        herder,
        request_timeout=timeout,
        loggers=loggers,
        engine_failure=launcher.trouble,
        warning=herder.remark,
    )
    server = worker_api(app, endpoints, config, extensions)
    url = endpoints.listeners.local_url
    return WorkerProcess(herder, server, url, config, lambda: _begin(herder, files))


def _begin(herder: StandaloneHerder, files: Sequence[ConnectorFile]) -> Future[None]:
    return Stages(time.monotonic).run_in_background("creation of connectors", lambda: create_connectors(herder, files))


def create_connectors(herder: StandaloneHerder, files: Sequence[ConnectorFile]) -> None:
    """Create the connectors and wait until all run. Raise the first failure, with the name of its file."""
    for file in files:
        try:
            herder.put_connector_config(
                file.name, file.config, target_state=file.target_state, allow_replace=False
            ).result()
        except ConnectError as error:
            raise ConfigError(f"Connector file {file.path}: {error}") from error
    for file in files:
        try:
            herder.connector_started(file.name).result()
        except ConnectError as error:
            raise ConnectError(f"Connector file {file.path}: {error}") from error
        log.info("Created connector %s", file.name)
