# SPDX-License-Identifier: Apache-2.0
"""`headrace standalone`: a worker of its own, with its connectors from files. Java: ``ConnectStandalone``."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence, Set
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headrace.api.errors import ConnectError
from headrace.api.protected_files import protect
from headrace.cli.connector_files import ConnectorFile, check_classes, read_connector_files, unusable
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
from headrace.config.properties_file import read_properties
from headrace.config.standalone_config import StandaloneConfig
from headrace.logs import audit
from headrace.logs.loggers import Loggers
from headrace.rest.server.endpoints import Endpoints
from headrace.worker.stages import Stages

if TYPE_CHECKING:
    from headrace.herder.engine.worker_herder import WorkerHerder
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher

log = logging.getLogger(__name__)


def run_standalone_worker(worker_properties: Path, connectors: Sequence[Path]) -> int:
    """Run the worker until it has stopped; return the exit code. Raise ConfigError for invalid properties and files.

    As in Kafka Connect, a connector that cannot be created or started ends the worker.
    """
    files = read_connector_files(connectors)
    return run_until_stopped(lambda signals: _run(worker_properties, files, signals))


def _run(worker_properties: Path, files: Sequence[ConnectorFile], signals: StopSignals) -> int:
    leave_no_core_dumps()
    with resolved_properties(read_properties(worker_properties)) as properties:
        check_worker_properties(StandaloneConfig, properties)
        config = StandaloneConfig(properties)
        use_log_format(config.log_format)
        log_unused_properties(config)
        endpoints = Endpoints.open(config)
        try:
            own = worker_files(config, worker_properties, config.offsets_file, *(file.path for file in files))
            return _serve(config, endpoints, files, own, signals)
        finally:
            endpoints.close()


def _serve(
    config: StandaloneConfig,
    endpoints: Endpoints,
    files: Sequence[ConnectorFile],
    own: Set[str],
    signals: StopSignals,
) -> int:
    check_java()
    check_temporary_directory()
    from headrace.spark.task.spark_task_launcher import SparkTaskLauncher

    loggers = Loggers()
    launcher = SparkTaskLauncher(config.engine, loggers)
    try:
        protect((*own, launcher.directory))
        parts = CheckedParts.of(config, endpoints.advertised_url)
        check_classes(files, parts.plugins)
        _check_offsets_file(config)
        launcher.prepare()
        try:
            return _worker(config, endpoints, parts, launcher, loggers, files).run(signals)
        finally:
            parts.close()
    except BaseException:
        launcher.stop(0)  # no effect if it was stopped in order
        raise


def _check_offsets_file(config: StandaloneConfig) -> None:
    """Raise ConfigError for an offsets file that cannot be used, before Spark is started."""
    from headrace.standalone.file_offset_backing_store import FileOffsetBackingStore

    store = FileOffsetBackingStore(config.offsets_file)
    store.start()
    store.stop()


def _worker(
    config: StandaloneConfig,
    endpoints: Endpoints,
    parts: CheckedParts,
    launcher: SparkTaskLauncher,
    loggers: Loggers,
    files: Sequence[ConnectorFile],
) -> WorkerProcess:
    """Put the worker together; slow imports are here, so that they run while Spark starts."""
    from headrace.metrics.jmx_naming import NAMINGS
    from headrace.rest.app import Monitoring, create_app
    from headrace.rest.event_streams import EventStreams
    from headrace.rest.worker_api import worker_api
    from headrace.standalone.assembly import standalone_herder
    from headrace.worker.tasks.traced_launcher import with_traces

    herder = standalone_herder(
        config, parts.plugins, with_traces(launcher, parts.tracing), endpoints.advertised_url, loggers=loggers
    )
    parts.extensions.register(herder)
    parts.observe(herder, config.bootstrap_servers)
    timeout = config.rest_request_timeout
    worker = urlsplit(endpoints.advertised_url).netloc
    inspections, streams = parts.inspections(herder, config, worker, launcher.preview_frames), EventStreams()
    namings = NAMINGS[config.metrics_naming]
    monitoring = Monitoring(loggers, launcher.trouble, herder.remark, namings, parts.tracing)
    app = create_app(herder, request_timeout=timeout, monitoring=monitoring, inspections=inspections, streams=streams)
    end_requests = (streams.close, inspections.close)
    server = worker_api(app, endpoints, config, parts.extensions, parts.access, end_requests=end_requests)
    url = endpoints.listeners.local_url
    return WorkerProcess(herder, server, url, config, lambda: _begin(herder, files, worker))


def _begin(herder: WorkerHerder, files: Sequence[ConnectorFile], worker: str) -> Future[None]:
    stages = Stages(time.monotonic)
    return stages.run_in_background("creation of connectors", lambda: create_connectors(herder, files, worker))


def create_connectors(herder: WorkerHerder, files: Sequence[ConnectorFile], worker: str) -> None:
    """Create the connectors and wait until all run. Raise the first failure, with the name of its file.

    ``worker``: host:port of this worker, for the audit.
    """
    for file in files:
        what = f"connector {file.name} of {file.path}"
        try:
            herder.put_connector_config(
                file.name, file.config, target_state=file.target_state, allow_replace=False
            ).result()
        except ConnectError as error:
            # Without the reason, which the worker ends with: it may quote a secret.
            audit.write_own(audit.FILE, worker, what, connector=file.name, failed=True)
            raise unusable(file.path, str(error)) from error
        audit.write_own(audit.FILE, worker, what, connector=file.name)
    for file in files:
        try:
            herder.connector_started(file.name).result()
        except ConnectError as error:
            raise ConnectError(f"Connector file {file.path}: {error}") from error
        log.info("Created connector %s", file.name)
