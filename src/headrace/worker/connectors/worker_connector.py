# SPDX-License-Identifier: Apache-2.0
"""One connector on this worker: its instance, its thread, its state."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from enum import Enum
from typing import Final, Protocol

from headrace.api.connector import Connector, ConnectorContext
from headrace.api.datasets import Dataset
from headrace.api.error_text import clean_text, error_text
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.plugin_metrics import PluginMetrics
from headrace.config.connector_config import ConnectorConfig
from headrace.logs.context import within
from headrace.metrics.plugin_metrics import OwnPluginMetrics, PluginRegistry
from headrace.model.state import TargetState
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.callbacks import StatusListener
from headrace.worker.connectors.task_configs import task_configs
from headrace.worker.runnable_configs import After, ConfigWatch
from headrace.worker.stages import SerialExecutor, Stages, trace_of

log = logging.getLogger(__name__)

_LONGEST_VERSION: Final = 200
_PATIENCE: Final = 0.1
"""Seconds that a reader waits for a connector whose thread is busy."""
Submit = Callable[[Callable[[], Mapping[str, float]]], Future[Mapping[str, float]]]
"""Has a function called on the connector's thread."""


class ConnectorPhase(Enum):
    """The phase of a connector here.

    Only RUNNING has a started instance; FAILED is left by a stop or ``close`` alone.
    """

    NEW = "new"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FAILED = "failed"
    CLOSED = "closed"


class ConnectorFactory(Protocol):
    """A factory for instances of one connector; called on the connector's thread, so it may import and block."""

    def resolve(self) -> ResolvedConfig:
        """Return the connector's configuration with values; also called from a thread that watches over them."""

    def create_instance(self, config: ConnectorConfig) -> Connector: ...

    def context(
        self,
        config: ConnectorConfig,
        connector: Connector,
        fail: Callable[[BaseException], None],
        metrics: PluginMetrics,
    ) -> ConnectorContext: ...

    def task_class_name(self, connector: Connector) -> str: ...

    def request_task_reconfiguration(self) -> None:
        """Request task configurations of the connector."""


class ConnectorPluginMetrics:
    """The metrics of a connector's present instance, whose gauges are read on the connector's own thread.

    So a gauge that hangs holds up its connector alone: readers then get the values before.
    """

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._registry = PluginRegistry()
        self._values: Mapping[str, float] = {}
        self._reading: Future[Mapping[str, float]] | None = None

    def begin(self) -> None:
        """Begin with no metrics, for another instance; what a former one registers late is not seen."""
        self._registry, self._values = PluginRegistry(), {}

    def registry(self) -> PluginMetrics:
        """Return the registry of the present instance."""
        return OwnPluginMetrics(self._registry)

    def values(self) -> Mapping[str, float]:
        """Return the newest values by ``plugin_metric_name``. Any thread; blocks a tenth of a second at most."""
        registry = self._registry
        if registry.empty:
            return {}
        patience = 0.0
        if self._reading is None or self._reading.done():
            self._reading, patience = self._submit(registry.read), _PATIENCE
        try:
            values = self._reading.result(patience)
        except TimeoutError:
            return self._values
        if registry is not self._registry:
            return {}
        self._values = values
        return values


class WorkerConnector:
    """A connector whose methods run on one thread, in the order of the calls here, which return at once.

    A paused or stopped connector has no instance: a resume creates a new one, for a connector is started once. An error
    of one of its methods makes the connector FAILED, goes to the listener, and is raised by the future. Java:
    ``WorkerConnector``.
    """

    def __init__(
        self, name: str, factory: ConnectorFactory, status: StatusListener, stages: Stages, after: After
    ) -> None:
        self.name = name
        self.starts = 0
        """The starts of instances so far."""
        self.version: str | None = None
        self.connector_class: type[Connector] | None = None
        """None before the first instance; read from any thread, as ``version``."""
        self._factory = factory
        self._status = status
        self._stages = stages
        self._executor = SerialExecutor(f"connector {name}", stages, log_as=name)
        self.metrics = ConnectorPluginMetrics(lambda read: self._executor.submit(f"metrics of connector {name}", read))
        self._watch = ConfigWatch(f"Connector {name}", factory.resolve, self.reload, after)
        # Written on the connector's thread only, but for `_abandoned`.
        self._phase = ConnectorPhase.NEW
        self._instance: Connector | None = None
        self._resolved = ResolvedConfig({}, {}, {})
        self._abandoned = False

    @property
    def phase(self) -> ConnectorPhase:
        return self._phase

    def set_target_state(self, target: TargetState) -> Future[None]:
        """Change the target state; the future ends when it is reached.

        It raises ConnectError if the connector has failed, now or earlier; not for STOPPED.
        """
        verb = {TargetState.STARTED: "start", TargetState.PAUSED: "pause", TargetState.STOPPED: "stop"}[target]
        return self._submit(verb, lambda: self._move(target))

    def task_configs(self) -> Future[list[dict[str, str]]]:
        """Compute the task configurations for the config topic. The future raises ConnectError if it does not run."""
        return self._executor.submit(f"task_configs of connector {self.name}", self._task_configs)

    def datasets(self, topics: Collection[str]) -> Future[tuple[Dataset, ...]]:
        """Return the datasets of a running instance with these topics; none if it does not run, or raises."""
        return self._executor.submit(f"datasets of connector {self.name}", lambda: self._datasets(topics))

    def reload(self) -> None:
        """Restart a running instance with the current values, and request task configurations."""
        self._submit("reload", self._reload)

    def fail(self, error: BaseException) -> None:
        """Fail with an error from a thread of the connector's own."""
        self._executor.submit(f"failure of connector {self.name}", lambda: self._fail("failed", error))

    def close(self, timeout: float) -> Future[None]:
        """Stop the connector, and abandon it if that takes more than ``timeout`` seconds; the future ends then."""
        closing = self._submit("stop", self._close)
        self._executor.close()
        await_closed = within(self.name, lambda: self._await_closed(closing, timeout))
        return self._stages.run_in_background(f"end of connector {self.name}", await_closed)

    def _submit(self, what: str, work: Callable[[], None]) -> Future[None]:
        return self._executor.submit(f"{what} of connector {self.name}", work)

    def _await_closed(self, closing: Future[None], timeout: float) -> None:
        try:
            closing.result(timeout)
        except TimeoutError:
            self._abandoned = True
            log.error("Connector %s has not stopped within %.1f s and is abandoned", self.name, timeout)
            self._status.on_shutdown(self.name)

    # ---- on the connector's thread

    def _move(self, target: TargetState) -> None:
        if target is TargetState.STOPPED:
            self._stop()
        elif self._phase is ConnectorPhase.FAILED:
            raise ConnectError(
                f"Connector {self.name} has failed and has to be restarted before it can be {target.value}"
            )
        elif target is TargetState.STARTED:
            self._start()
        elif self._phase is not ConnectorPhase.PAUSED:
            self._end_instance(raising=True)
            self._phase = ConnectorPhase.PAUSED
            self._report(self._status.on_pause)

    def _stop(self) -> None:
        """Stop from any phase, whatever goes wrong: a stopped connector is as good as new (KIP-875)."""
        if self._phase is not ConnectorPhase.STOPPED:
            self._end_instance(raising=False)
            self._phase = ConnectorPhase.STOPPED
            self._report(self._status.on_stop)

    def _start(self) -> None:
        if self._phase is ConnectorPhase.RUNNING:
            return
        self._begin_instance(self._status.on_startup if self._phase is ConnectorPhase.NEW else self._status.on_running)

    def _begin_instance(self, call: Callable[[str], None]) -> None:
        try:
            self._resolved = self._factory.resolve()
            config = ConnectorConfig(self._resolved.config)
            instance = self._factory.create_instance(config)
            self.version, self.connector_class = _version(instance), type(instance)
            self._instance = instance
            self.starts += 1
            self.metrics.begin()
            instance.initialize(self._factory.context(config, instance, self.fail, self.metrics.registry()))
            instance.start(dict(config.raw))
        except BaseException as error:
            raise self._fail("failed to start", error) from error
        self._phase = ConnectorPhase.RUNNING
        self._watch.begin(self._resolved)
        self._report(call)

    def _reload(self) -> None:
        if self._phase is ConnectorPhase.RUNNING:
            self._end_instance(raising=True)
            self._begin_instance(self._status.on_running)
            self._factory.request_task_reconfiguration()

    def _task_configs(self) -> list[dict[str, str]]:
        """Return the configurations with references, as they are stored: values stay on this worker."""
        if self._phase is not ConnectorPhase.RUNNING or self._instance is None:
            raise ConnectError(f"Connector {self.name} is {self._phase.value} and so makes no task configurations")
        try:
            config = ConnectorConfig(self._resolved.config)
            made = task_configs(self._instance, config, self._factory.task_class_name(self._instance))
        except RetriableError as error:
            shown = self._resolved.hide(error_text(error))
            if shown == error_text(error):
                raise
            raise RetriableError(shown) from None
        except BaseException as error:
            raise self._fail("failed to make task configurations", error) from error
        return [self._resolved.restore(each) for each in made]

    def _datasets(self, topics: Collection[str]) -> tuple[Dataset, ...]:
        if self._phase is not ConnectorPhase.RUNNING or self._instance is None:
            return ()
        try:
            return tuple(self._instance.datasets(topics))
        except Exception:
            log.warning("Connector %s failed to return its datasets", self.name, exc_info=True)
            return ()

    def _fail(self, how: str, error: BaseException) -> ConnectError:
        """Mark the connector FAILED and return the error to raise."""
        hide = self._resolved.hide
        if self._phase not in (ConnectorPhase.FAILED, ConnectorPhase.CLOSED):
            self._phase = ConnectorPhase.FAILED
            self._report(lambda name: self._status.on_failure(name, hide(trace_of(error))))
            self._end_instance(raising=False)
        message = hide(f"Connector {self.name} {how}: {error_text(error)}")
        return ConfigError(message, error.name) if isinstance(error, ConfigError) else ConnectError(message)

    def _end_instance(self, raising: bool) -> None:
        self._watch.end()
        instance, self._instance = self._instance, None
        if instance is None:
            return
        try:
            instance.stop()
        except BaseException as error:
            if raising:
                raise self._fail("failed to stop", error) from error
            log.warning("Connector %s failed to stop", self.name, exc_info=True)
        finally:
            self.metrics.begin()

    def _close(self) -> None:
        had_failed = self._phase is ConnectorPhase.FAILED
        self._end_instance(raising=False)
        self._phase = ConnectorPhase.CLOSED
        if not had_failed:
            self._report(self._status.on_shutdown)

    def _report(self, call: Callable[[str], None]) -> None:
        if not self._abandoned:  # another worker, or another instance, may have the connector by now
            call(self.name)


def _version(connector: Connector) -> str:
    return clean_text(str(connector.version()), _LONGEST_VERSION)
