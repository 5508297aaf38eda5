# SPDX-License-Identifier: Apache-2.0
"""The process of a worker, distributed or standalone: from its properties to its orderly end."""

from __future__ import annotations

import logging
import os
import re
import resource
import site
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Set
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import headrace
from headrace.api.errors import ConnectError
from headrace.cli.console import keep_log_lines
from headrace.cli.start_report import StartReport
from headrace.cli.stop_signals import StopSignals
from headrace.config.access_config import AUDIT_FILE
from headrace.config.connector_config import HEADER_CONVERTER, KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.override_policy import POLICY_PROPERTY
from headrace.config.telemetry_config import TRACES
from headrace.config.worker_config import CONFIG_PROVIDERS, LOG_KEPT_BYTES, WorkerConfig
from headrace.connectors.singer.commands import environments_directory
from headrace.herder.errors import NotFoundError
from headrace.herder.herder import Herder
from headrace.jvm.java_runtime import find_java, unused_java_home
from headrace.model.cluster_config_state import Config
from headrace.model.deadline import Deadline
from headrace.model.service_threads import THREAD_DEATHS
from headrace.model.set_back_clock import SetBackClock
from headrace.rest.server.rest_server import RestServer

if TYPE_CHECKING:
    from headrace.herder.cluster_changes import ChangeQuery
    from headrace.herder.connector_logs import LogQuery
    from headrace.herder.engine.worker_herder import WorkerHerder
    from headrace.inspection.inspections import Inspections
    from headrace.inspection.preview.previews import PreviewFrames
    from headrace.lineage.lineage_reporter import LineageReporter
    from headrace.plugins.discovery import Plugins
    from headrace.rest.access.assembly import WorkersAccess
    from headrace.rest.rest_extensions import RestExtensions
    from headrace.telemetry.tracing import Tracing

log = logging.getLogger(__name__)

_AROUND_PATHS: Final = re.compile(r"[\s,:;=\"']+")
"""The separators of paths in values: in lists, class paths, URLs, JVM options, JAAS."""
_LOCAL_DIRECTORY: Final = "spark.local.dir"
_POLL_SECONDS: Final = 0.5
_KAFKA_SECONDS: Final = 60.0
_STOP_MARGIN_SECONDS: Final = 10.0
_REST_STOP_SECONDS: Final = 3.0
_TRACES_SECONDS: Final = 2.0


def leave_no_core_dumps() -> None:
    """Disable core dumps of this process and its children: they would contain passwords. ``prlimit`` reverts it."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


@contextmanager
def resolved_properties(properties: Mapping[str, str]) -> Iterator[Mapping[str, str | None]]:
    """Yield the properties with config providers' values, which are hidden in errors raised meanwhile."""
    if CONFIG_PROVIDERS not in properties:
        yield properties
        return
    from headrace.plugins.config_transformer import resolve_worker_properties
    from headrace.plugins.discovery import plugins_of

    resolved = resolve_worker_properties(properties, plugins_of(properties))
    with resolved.hidden_errors():
        yield resolved.config


def worker_files(config: WorkerConfig, *files: str | os.PathLike[str]) -> Set[str]:
    """Return the given files, each existing file that a property names, and all directories that code comes from.

    The audit log is included, which may not exist yet.
    """
    found = {*(os.fspath(file) for file in files), *_named_files(config), *_code(), *config.plugin_path}
    found |= set(filter(None, (*config.raw.get(_LOCAL_DIRECTORY, "").split(","), config.get(AUDIT_FILE))))
    return frozenset(found)


def _named_files(config: WorkerConfig) -> Iterator[str]:
    for text in config.raw.values():
        for part in (text.strip(), *_AROUND_PATHS.split(text)):
            if part and os.path.isfile(part):
                yield part


def _code() -> Iterator[str]:
    """Return the directories of imported modules, the interpreter, programs beside it, and taps and targets."""
    yield from filter(os.path.exists, sys.path)
    yield str(Path(headrace.__file__).parent)
    yield str(Path(sys.executable).parent)
    yield str(Path(sys.prefix) / "pyvenv.cfg")
    yield site.getusersitepackages()
    yield str(environments_directory())


def check_java() -> None:
    """Raise NoJavaError if this machine has no Java for Spark; warn if `JAVA_HOME` is not the one that it gets."""
    found = find_java()
    if (reason := unused_java_home(found)) is not None:
        log.warning("%s: Spark gets Java %d at %s", reason, found.major, found.home)


def check_temporary_directory() -> None:
    """Warn if TMPDIR cannot be used, and files are in another directory than it says."""
    wanted = os.environ.get("TMPDIR")
    if wanted and (used := tempfile.gettempdir()) != os.path.abspath(wanted):
        log.warning("TMPDIR=%s cannot be written to: temporary files are in %s", wanted, used)


@dataclass(frozen=True, slots=True)
class CheckedParts:
    """The parts of a worker that follow from its properties alone, so that mistakes in these are found first."""

    plugins: Plugins
    extensions: RestExtensions
    access: WorkersAccess
    tracing: Tracing
    lineage: LineageReporter | None

    @classmethod
    def of(cls, config: WorkerConfig, advertised_url: str) -> CheckedParts:
        """Create them. Raise ConfigError for a property that they, converters or Kafka clients cannot use.

        Spark is started only afterwards: plugins' code is imported here, but none of the worker's slow packages.
        """
        from headrace.config.client_configs import admin
        from headrace.config.java_config import host_options
        from headrace.java.process_options import use_host_options
        from headrace.kafka.clients.client_config import admin_config
        from headrace.lineage.lineage_reporter import create_lineage
        from headrace.plugins.discovery import plugins_of
        from headrace.rest.access.assembly import WorkersAccess
        from headrace.rest.rest_extensions import RestExtensions
        from headrace.telemetry.tracing import create_tracing

        use_host_options(host_options(config.raw))
        plugins = plugins_of(config.raw)
        # Every connector without converters of its own would fail by these.
        for property in (KEY_CONVERTER, VALUE_CONVERTER):
            plugins.converter(config.get(property), property)
        plugins.header_converter(config.get(HEADER_CONVERTER), HEADER_CONVERTER)
        plugins.override_policy(config.get(POLICY_PROPERTY), POLICY_PROPERTY)
        admin_config(admin(config))
        tracing = create_tracing(config.get(TRACES), urlsplit(advertised_url).netloc)
        extensions, access = RestExtensions(config, plugins), WorkersAccess(config)
        return cls(plugins, extensions, access, tracing, create_lineage(config))

    def observe(self, herder: WorkerHerder, bootstrap_servers: str) -> None:
        """Begin to report the lineage of the herder's connectors, if that is enabled."""
        if self.lineage is not None:
            from headrace.lineage.lineage_view import LineageView

            self.lineage.begin(LineageView(herder, herder.worker, bootstrap_servers))

    def inspections(
        self,
        herder: WorkerHerder,
        config: WorkerConfig,
        worker: str,
        frames: PreviewFrames,
        ask: AskOthers | None = None,
    ) -> Inspections:
        """Return what serves requests about the records and log lines of the herder's connectors; the caller closes it.

        ``worker`` is the host:port of this one, ``frames`` offers Spark to previews, and ``ask`` gets log lines and
        changes of another worker, if there may be others.
        """
        from headrace.herder.cluster_changes import ClusterChanges
        from headrace.herder.connector_logs import ConnectorLogs
        from headrace.herder.worker_parts import WorkerParts
        from headrace.inspection.dead_letters.dead_letters import DeadLetters
        from headrace.inspection.inspections import Inspections
        from headrace.inspection.sandbox import Sandbox
        from headrace.inspection.topics.topic_records import TopicRecords
        from headrace.worker.stages import Stages

        sandbox, ring = Sandbox(), keep_log_lines(config.get(LOG_KEPT_BYTES))
        parts = WorkerParts(worker, Stages(time.monotonic), time.monotonic)
        return Inspections(
            sandbox,
            TopicRecords(herder, config, herder.worker.configs, sandbox),
            DeadLetters(herder.worker, lambda: _connector_configs(herder), sandbox, worker),
            ConnectorLogs(ring, worker, herder, None if ask is None else ask.log_lines),
            ClusterChanges(ring, herder.worker_ids, parts, None if ask is None else ask.changes),
            frames,
        )

    def close(self) -> None:
        """Send the traces and events that are left."""
        if self.lineage is not None:
            self.lineage.close()
        self.tracing.close(_TRACES_SECONDS)


class AskOthers(Protocol):
    """Requests to any other worker of the group for what it has logged. Raise ConnectError."""

    def log_lines(self, worker: str, query: LogQuery) -> dict[str, Any]:
        """Return its lines about a connector, as ``ConnectorLogs.here``."""

    def changes(self, worker: str, query: ChangeQuery) -> dict[str, Any]:
        """Return its changes, as ``ClusterChanges.here``."""


def _connector_configs(herder: WorkerHerder) -> dict[str, Config]:
    """Return the configurations of all connectors by name."""
    configs: dict[str, Config] = {}
    for name in herder.connectors():
        with suppress(NotFoundError):  # deleted meanwhile
            configs[name] = herder.connector_info(name).config
    return configs


def _print_line(line: str) -> None:
    """Print the line; a worker whose standard output cannot be written, as on a full disk, continues."""
    with suppress(OSError):
        print(line, flush=True)


class WorkerProcess:
    """A worker's process from its start to SIGTERM. `run` on the main thread."""

    def __init__(
        self,
        herder: Herder,
        server: RestServer,
        url: str,
        config: WorkerConfig,
        begin: Callable[[], Future[None]] | None = None,
    ) -> None:
        """``begin`` starts, once Kafka is reachable, initial work that must succeed before the worker is ready."""
        self._herder = herder
        self._server = server
        self._url = url
        self._brokers = config.bootstrap_servers
        self._stop_timeout = config.graceful_timeout + _STOP_MARGIN_SECONDS
        self._begin = begin
        self._report = StartReport(config.bootstrap_servers, url)
        self._wall_clock = SetBackClock()

    def run(self, signals: StopSignals) -> int:
        """Return 0 after an orderly stop. Raise ConnectError if herder or REST server died, or Kafka is unreachable."""
        with THREAD_DEATHS.recording():
            signals.await_orderly()
            return self._run(signals)

    def _run(self, signals: StopSignals) -> int:
        self._server.start()
        self._herder.start()
        self._report.begin()
        try:
            if self._await_kafka(signals, Deadline.after(_KAFKA_SECONDS)) and self._await_begun(signals):
                _print_line(f"headrace worker ready: {self._url}")
            while not self._stop_requested(signals):
                self._report.observe(self._herder.stage(), self._herder.has_started())
        finally:
            self._stop()
        return 0

    def _await_kafka(self, signals: StopSignals, deadline: Deadline) -> bool:
        """Return False if asked to stop first. Java as well gives up a start without brokers after a minute."""
        while self._herder.server_info().kafka_cluster_id is None:
            if deadline.expired:
                raise ConnectError(
                    f"Kafka cannot be reached at bootstrap.servers={self._brokers} for {_KAFKA_SECONDS:.0f} s; "
                    f"the worker is {self._herder.stage()}"
                )
            self._report.observe(self._herder.stage())
            if self._stop_requested(signals):
                return False
        return True

    def _await_begun(self, signals: StopSignals) -> bool:
        """Return False if asked to stop first; raise the error of the initial work."""
        begun = self._begin() if self._begin is not None else None
        while begun is not None and not begun.done():
            self._report.observe(self._herder.stage())
            if self._stop_requested(signals):
                return False
        if begun is not None:
            begun.result()
        return True

    def _stop_requested(self, signals: StopSignals) -> bool:
        """Wait a moment for a signal, and return True if one came. Raise ConnectError if the herder has died."""
        stops = signals.wait(_POLL_SECONDS)
        self._wall_clock.exit_if_set_back("The worker")
        failure = self._herder.failure()
        if failure is None and self._server.has_died():
            failure = ConnectError("The thread of the REST server has died")
        if failure is None:
            return stops
        if isinstance(failure, ConnectError):
            raise failure
        raise ConnectError(f"The worker has failed: {failure!r}") from failure

    def _stop(self) -> None:
        deadline = Deadline.after(self._stop_timeout)
        log.info("Stopping, within %.0f s", self._stop_timeout)
        self._server.stop(min(_REST_STOP_SECONDS, deadline.remaining()))
        self._herder.stop(deadline.remaining())
        log.info("Stopped")
