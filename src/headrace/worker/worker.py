# SPDX-License-Identifier: Apache-2.0
"""The connectors and tasks of one process, and every operation of a herder on them."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Final

from headrace.api.datasets import Dataset, Fields
from headrace.api.errors import ConfigError
from headrace.config.worker_config import WorkerConfig
from headrace.metrics.figures import ConnectorFigures, TaskRunFigures, WorkerFigures
from headrace.model.cluster_config_state import Config
from headrace.model.deadline import Clock, Deadline
from headrace.model.health import TaskFacts
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorOffset, OffsetBounds, OffsetsChange, OffsetsChanged, SparkAttempt, SparkCores
from headrace.model.state import TargetState
from headrace.plugins.builtin import PluginKind
from headrace.plugins.command_access import command_access
from headrace.plugins.config_transformer import config_transformer
from headrace.plugins.discovery import Plugins, connector_type
from headrace.plugins.override_policies import override_policy
from headrace.storage.offset_backing_store import OffsetBackingStore
from headrace.task.task_spec import TaskKind
from headrace.worker.callbacks import ConnectorCallbacks, StatusListener, TaskCallbacks
from headrace.worker.connectors.worker_connectors import WorkerConnectors
from headrace.worker.offsets.connector_offsets import ConnectorOffsets
from headrace.worker.offsets.offset_stores import OffsetStores
from headrace.worker.offsets.task_offsets import NoTaskOffsets, SourceTaskOffsets
from headrace.worker.producer_fencing import fence_zombies
from headrace.worker.rate_history import History, HistorySampler, RateHistory
from headrace.worker.run_figures import RunRecorder
from headrace.worker.runnable_configs import After, RunnableConfigs, after
from headrace.worker.stages import Stages
from headrace.worker.tasks.supervised_task import SupervisedTask
from headrace.worker.tasks.task_basis import TaskBasis, task_basis
from headrace.worker.tasks.task_launch import TaskLaunch, build_task_spec
from headrace.worker.tasks.task_launcher import TaskLauncher
from headrace.worker.tasks.worker_tasks import WorkerTasks

log = logging.getLogger(__name__)

_SLOW_S: Final = 1.0
"""Seconds from which a stage is worth naming."""


class Worker:
    """The connectors and tasks of this process. Thread-safe; every method but ``stop`` returns at once.

    Changes of connectors and tasks go to the ``StatusListener``; futures report the outcome of the request alone. Java:
    ``org.apache.kafka.connect.runtime.Worker``.
    """

    def __init__(
        self,
        config: WorkerConfig,
        plugins: Plugins,
        launcher: TaskLauncher,
        offsets: OffsetBackingStore,
        status: StatusListener,
        clock: Clock = time.monotonic,
        after: After = after,
    ) -> None:
        """Create the worker; ``offsets`` is the global offsets store, which the caller starts and stops.

        Raise ConfigError for config providers and an override policy that cannot be used.
        """
        self.config = config
        self.plugins = plugins
        self._launcher = launcher
        self._runs = RunRecorder(status, clock)
        status = self._runs
        self._status = status
        self._clock = clock
        self._stages = Stages(clock)
        self._offsets = OffsetStores(config, offsets)
        self.transformer = config_transformer(config.raw, plugins)
        self.transformer.warn_of_missing_limits()
        plugins.warn_of_plugins()
        self.override_policy = override_policy(config, plugins)
        self.configs = RunnableConfigs(self.transformer, self.override_policy, plugins, command_access(config.raw))
        self._connector_offsets = ConnectorOffsets(config, plugins, self.configs, self._offsets, launcher.run_job)
        self._connectors = WorkerConnectors(self.configs, plugins, self._offsets.reader, status, self._stages, after)
        self._tasks = WorkerTasks(launcher, config.graceful_timeout, self._stages, clock, after)
        self._rates = RateHistory()
        self._sampler = HistorySampler(self._rates, self.task_metrics)

    def start(self) -> None:
        """Start the engine, in the background."""
        self._launcher.start()
        self._sampler.start()

    def stop(self, timeout: float) -> None:
        """Stop connectors and tasks, then the engine, which kills what is left; blocks ``timeout`` seconds at most."""
        deadline = Deadline.after(timeout, self._clock)
        self._sampler.stop()
        ends = [self.stop_connector(name) for name in self.connector_names()]
        ends.append(self.stop_tasks(self.task_ids()))
        for end in ends:
            try:
                end.result(deadline.remaining())
            except TimeoutError:
                log.warning(
                    "Stopping takes longer than %.1f s: %s", timeout, "; ".join(self.blocked()) or "no cause known"
                )
                break
        self._launcher.stop(deadline.remaining())
        self._offsets.stop()
        self.transformer.close()
        self.override_policy.close()

    def blocked(self) -> list[str]:
        """Return the stages that have taken a second or more: "start of connector x since 12 s"."""
        return self._stages.longer_than(_SLOW_S)

    # ---- connectors

    def start_connector(
        self, name: str, config: Config, target_state: TargetState, ctx: ConnectorCallbacks
    ) -> Future[None]:
        """Start a connector; the future ends when it has reached ``target_state``.

        The future raises ConnectError if the connector fails or is here already.
        """
        if name not in self._connectors.names():
            self._runs.record_start(name)
        return self._connectors.start(name, config, target_state, ctx)

    def stop_connector(self, name: str) -> Future[None]:
        """Stop a connector; the future never raises.

        It ends when the connector has stopped or, past ``task.shutdown.graceful.timeout.ms``, is abandoned.
        """
        return self._connectors.stop(name, self.config.graceful_timeout)

    def set_connector_target_state(self, name: str, state: TargetState) -> Future[None]:
        """Change a connector's target state. The future raises ConnectError if it is not here or has failed."""
        return self._connectors.set_target_state(name, state)

    def connector_task_configs(self, name: str) -> Future[list[dict[str, str]]]:
        """Compute the connector's task configurations, complete for the config topic.

        The future raises ConnectError if the connector does not run or makes more tasks than it may; RetriableError if
        it cannot answer yet.
        """
        return self._connectors.task_configs(name)

    def is_running(self, name: str) -> bool:
        """Return true if a started instance of the connector is here."""
        return self._connectors.is_running(name)

    def connector_names(self) -> frozenset[str]:
        """Return the connectors that were started here and not yet stopped, failed ones too."""
        return self._connectors.names()

    def connector_type(self, config: Config) -> str:
        """Return source, sink or unknown. The first call imports the connector's class, which may block."""
        try:
            return connector_type(self.plugins.connector(config.get("connector.class") or "")) or "unknown"
        except ConfigError:
            return "unknown"

    def version(self, id: str | ConnectorTaskId) -> str | None:
        """Return the version that a connector's status shows; a task's is its connector's. None if it is not here."""
        return self._connectors.version(id if isinstance(id, str) else id.connector)

    def connector_starts(self, name: str) -> int:
        """Return the number of starts of the connector's instances here."""
        return self._connectors.starts(name)

    def connector_datasets(self, name: str, topics: Collection[str]) -> Future[tuple[Dataset, ...]]:
        """Return the datasets outside Kafka of a connector with these topics; none if it does not run here."""
        return self._connectors.datasets(name, topics)

    # ---- tasks

    def task_basis(self, config: Config, task: int) -> Future[TaskBasis]:
        """Return what a task of a connector with this configuration would be launched with, and launch nothing.

        The future raises ConfigError as a start does.
        """
        stage = f"references of connector {config.get('name')}"
        return self._stages.run_in_background(
            stage, lambda: task_basis(self.config, self.plugins, self.configs.resolve_connector(config), task)
        )

    def start_task(
        self,
        id: ConnectorTaskId,
        connector_config: Config,
        task_config: Config,
        target_state: TargetState,
        callbacks: TaskCallbacks,
    ) -> None:
        """Start a task; failures become its status. Raise ConnectError if the task is here already."""
        if id not in self._tasks.ids():
            self._runs.record_start(id)
        task = SupervisedTask(id, target_state, self._status, callbacks, (connector_config, task_config))
        self._tasks.start(task, lambda: self._task_launch(id, connector_config, task_config))

    def stop_tasks(self, ids: Collection[ConnectorTaskId]) -> Future[None]:
        """Stop tasks: gracefully within ``task.shutdown.graceful.timeout.ms``, then by killing.

        The future ends when every process is proved gone, and so leaves nothing behind that could still write. Unknown
        ids count as stopped.
        """
        return self._tasks.stop(ids)

    def set_task_target_state(self, id: ConnectorTaskId, state: TargetState) -> None:
        """Pause or resume a task, if it is here."""
        self._tasks.set_target_state(id, state)

    def task_ids(self) -> frozenset[ConnectorTaskId]:
        """Return the tasks that were started here and whose end is not proved, failed ones too."""
        return self._tasks.ids()

    def task_metrics(self) -> Mapping[ConnectorTaskId, Mapping[str, float]]:
        """Return the latest figures of each task here."""
        return self._tasks.metrics()

    def task_facts(self, connector: str | None) -> Mapping[ConnectorTaskId, TaskFacts]:
        """Return the facts for the health of a connector's tasks here, or of all; of those that were here last too.

        Blocks for a moment, as long as processes take to answer.
        """
        return self._tasks.facts(connector)

    def rate_history(self, connector: str | None) -> History:
        """Return the throughput and lag of a connector's tasks here over the last hour, or of all tasks here."""
        return self._rates.of(connector)

    def record_schemas(self) -> Mapping[ConnectorTaskId, Mapping[str, Fields]]:
        """Return the schemas of the records of each task here, by topic; none without lineage."""
        return self._tasks.schemas()

    def spark_attempts(self, connector: str) -> Future[Mapping[int, SparkAttempt]]:
        """Return the Spark attempts of a connector's tasks that are here, by their numbers."""
        return self._stages.run_in_background(
            f"what Spark runs of connector {connector}", lambda: self._tasks.spark_attempts(connector)
        )

    def forget_topics(self, connector: str) -> None:
        """Make the connector's tasks here report the topics in use again, after a reset of its topics (KIP-558)."""
        self._tasks.forget_topics(connector)

    def spark_cores(self) -> Future[SparkCores | None]:
        """Return the cores that Spark has for the tasks here; None while Spark is not running."""
        return self._stages.run_in_background("cores of Spark", self._launcher.cores)

    # ---- figures

    def figures(self) -> WorkerFigures:
        """Return the figures of all that is here at this moment.

        Blocks a tenth of a second at most, for each connector with metrics of its own that is busy.
        """
        steps = self._tasks.steps()
        return WorkerFigures(
            connectors={name: self._connector_figures(name) for name in self.connector_names()},
            tasks={
                id: TaskRunFigures(self._runs.figures(id), own, steps.get(id, ()))
                for id, own in self.task_metrics().items()
            },
            connector_startups=self._runs.startups(str),
            task_startups=self._runs.startups(ConnectorTaskId),
        )

    def _connector_figures(self, name: str) -> ConnectorFigures:
        run, version, cls = self._runs.figures(name), self.version(name), self._connectors.connector_class(name)
        if cls is None:
            return ConnectorFigures(run, version)
        own = self._connectors.metrics(name)
        shown = self.plugins.class_name(PluginKind.CONNECTOR, cls)
        return ConnectorFigures(run, version, shown, connector_type(cls) or "unknown", own)

    def _task_launch(self, id: ConnectorTaskId, connector_config: Config, task_config: Config) -> TaskLaunch:
        connector = self.configs.resolve_connector(connector_config)
        task = self.configs.resolve_task(id.connector, task_config)
        both = connector.along_with(task)
        with both.hidden_errors():
            spec = build_task_spec(self.config, self.plugins, id, connector.config, task.config)
        if spec.kind is TaskKind.SINK:
            return TaskLaunch(spec, both, NoTaskOffsets())
        return TaskLaunch(spec, both, SourceTaskOffsets(self._offsets, id, connector.config, self._stages))

    # ---- for any connector, wherever it runs

    def connector_offsets(self, name: str, connector_config: Config) -> Future[tuple[ConnectorOffset, ...]]:
        """Return the committed offsets of a connector (KIP-875).

        The future raises RetriableError if they cannot be read in time.
        """
        return self._stages.run_in_background(
            f"offsets of connector {name}", lambda: self._connector_offsets.read(connector_config)
        )

    def offset_bounds(self, name: str, connector_config: Config) -> Future[OffsetBounds | None]:
        """Return the bounds of what a sink can read, None for a source; errors are those of ``connector_offsets``."""
        return self._stages.run_in_background(
            f"bounds of the offsets of connector {name}", lambda: self._connector_offsets.bounds(connector_config)
        )

    def change_offsets(self, name: str, connector_config: Config, change: OffsetsChange) -> Future[OffsetsChanged]:
        """Alter or reset the offsets of a connector that is STOPPED and whose former tasks are fenced (KIP-875).

        Errors are those of ``ConnectorOffsets.change``.
        """
        stage = f"{'reset' if change.offsets is None else 'change'} of the offsets of connector {name}"
        return self._stages.run_in_background(stage, lambda: self._connector_offsets.change(connector_config, change))

    def fence_zombies(self, connector_config: Config, tasks: int) -> Future[None]:
        """Do one round of fencing for the producers of tasks 0 to ``tasks`` - 1 (KIP-618)."""

        def fence() -> None:
            fence_zombies(self.config, self.configs.resolve_connector(connector_config).config, tasks)

        return self._stages.run_in_background(f"fencing of connector {connector_config.get('name')}", fence)
