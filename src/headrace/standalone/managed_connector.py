# SPDX-License-Identifier: Apache-2.0
"""One connector of a standalone worker, reconciled with its configuration."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from headrace.api.errors import ConnectError, RetriableError
from headrace.model.backoff import ExponentialBackoff
from headrace.model.cluster_config_state import Config
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.standalone.status_recorder import StatusRecorder
from headrace.storage.config_writes import TaskConfigsWrite
from headrace.storage.memory_config_backing_store import MemoryConfigBackingStore
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore
from headrace.worker.callbacks import HerderCallbacks
from headrace.worker.config_watch import After
from headrace.worker.stages import SerialExecutor, Stages
from headrace.worker.worker import Worker

log = logging.getLogger(__name__)

T = TypeVar("T")

_BACKOFF: Final = ExponentialBackoff(0.25, 60.0)
"""Seconds before task configs that could not be computed are tried again, doubled each time; as in Kafka Connect."""


@dataclass(frozen=True, slots=True)
class ConnectorServices:
    """The services that all connectors share."""

    worker: Worker
    configs: MemoryConfigBackingStore
    statuses: MemoryStatusBackingStore
    recorder: StatusRecorder
    stages: Stages
    after: After


@dataclass(eq=False, slots=True)
class _Run:
    """One start of the connector.

    ``reconciled`` ends when it has the tasks it is to have, or none as it is not to run.
    """

    config: Config
    target: TargetState
    reconciled: Future[None] = field(default_factory=Future)
    retries: int = 0


class ManagedConnector:
    """A connector and its tasks, reconciled with the config store. Public methods return at once.

    The rest runs on the connector's own thread, so one after the other. As in the distributed herder there is no memory
    of former changes: the configuration in the config store is compared with what runs. Starts and calls of the
    connector are not waited for on that thread, so that a connector that hangs can be stopped.
    """

    def __init__(self, name: str, services: ConnectorServices, callbacks: HerderCallbacks) -> None:
        self.name = name
        self._worker = services.worker
        self._services = services
        self._callbacks = callbacks
        self._thread = SerialExecutor(f"herder of {name}", services.stages, log_as=name)
        self._run: _Run | None = None
        self._applied: Config | None = None
        """The connector's configuration that its tasks were started with."""
        self._closed = False

    def reconcile(self) -> Future[None]:
        """Compare with the config store after a change in it; the future ends when whatever has to stop has stopped."""
        return self._submit("change", self._reconcile)

    def started(self) -> Future[None]:
        """Wait for the start of the connector and its tasks; call it after ``reconcile``.

        The future raises the error that prevented the start. A connector that is not to run has nothing to start.
        """
        result: Future[None] = Future()
        self._submit("start", lambda: self._pass_on(result))
        return result

    def reconfigure_tasks(self) -> None:
        """Request task configurations of the connector again, and bring its tasks in line."""
        self._submit("task configs", self._request_task_configs)

    def restart(self, connector: bool, tasks: Sequence[int]) -> Future[None]:
        """Start a new instance of the connector, if so, and new processes of those of ``tasks`` that there are."""
        return self._submit("restart", lambda: self._restart(connector, tasks))

    def run_exclusively(self, what: str, work: Callable[[], T]) -> Future[T]:
        """Do ``work``, which may block, after all changes so far and before any later one."""
        return self._thread.submit(f"{what} of connector {self.name}", work)

    def close(self) -> None:
        """Begin nothing more. Neither connector nor tasks are stopped: that is the worker's part."""
        self._closed = True
        self._thread.close()

    def _submit(self, what: str, work: Callable[[], None]) -> Future[None]:
        done = self._thread.submit(f"{what} of connector {self.name}", lambda: None if self._closed else work())
        done.add_done_callback(self._log_failure)
        return done

    def _log_failure(self, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            log.error("Connector %s could not be brought in line with its configuration", self.name, exc_info=error)

    # ---- on the connector's thread

    def _reconcile(self) -> None:
        state = self._services.configs.snapshot()
        config, target = state.connector_config(self.name), state.target_state(self.name)
        if config is None or target is None:
            self._end()
        elif self._run is None or self._run.config is not config:
            self._begin(config, target)
        elif self._run.target is not target:
            self._run.target = target
            self._align_tasks(target)
            self._follow(
                self._worker.set_connector_target_state(self.name, target), lambda _: self._request_task_configs()
            )

    def _end(self) -> None:
        self._run = self._applied = None
        self._worker.stop_connector(self.name).result()
        self._stop_tasks()
        self._services.statuses.delete(self.name)

    def _begin(self, config: Config, target: TargetState) -> None:
        """Start an instance, also in place of one with an older configuration.

        Its tasks continue until it has computed new ones, as in Kafka Connect.
        """
        self._worker.stop_connector(self.name).result()
        self._run = _Run(config, target)
        self._align_tasks(target)
        started = self._worker.start_connector(self.name, config, target, self._callbacks)
        self._follow(started, lambda _: self._request_task_configs())

    def _restart(self, connector: bool, tasks: Sequence[int]) -> None:
        run, present = self._run, self._services.configs.snapshot().tasks(self.name)
        if run is None:
            return
        ids = [id for id in present if id.task in tasks]
        self._worker.stop_tasks(ids).result()
        for id in ids:
            self._services.recorder.on_restart(id, None)
        if connector:
            self._worker.stop_connector(self.name).result()
            self._services.recorder.on_restart(self.name, None)
            self._begin(run.config, run.target)
        self._start_tasks(ids)

    def _align_tasks(self, target: TargetState) -> None:
        if target is TargetState.STOPPED:
            self._replace_tasks(())
            self._applied = None
        for id in self._task_ids():
            self._worker.set_task_target_state(id, target)

    def _request_task_configs(self) -> None:
        """Request task configs; not of a paused connector, which has to be resumed first, as in Kafka Connect."""
        if self._run is None:
            return
        if self._run.target is TargetState.STARTED:
            self._follow(self._worker.connector_task_configs(self.name), self._apply)
        else:
            _end_future(self._run.reconciled)

    def _apply(self, configs: Sequence[Config]) -> None:
        assert self._run is not None  # callbacks of a run that is over are not called
        if self._run.target is not TargetState.STOPPED:
            present = self._services.configs.snapshot().all_task_configs(self.name)
            # Converters and transformations are read from the connector's own configuration.
            if self._applied is not self._run.config or [*map(dict, present)] != [*map(dict, configs)]:
                self._replace_tasks(configs)
                self._applied = self._run.config
                self._start_tasks(self._services.configs.snapshot().tasks(self.name))
            self._run.retries = 0
        _end_future(self._run.reconciled)

    def _replace_tasks(self, configs: Sequence[Config]) -> None:
        self._stop_tasks()
        self._services.configs.write(TaskConfigsWrite(self.name, configs))
        self._services.statuses.delete_tasks(self.name, remaining=len(configs))

    def _start_tasks(self, ids: Sequence[ConnectorTaskId]) -> None:
        """Start those that the connector still has: it may have been removed meanwhile."""
        run, applied, configs = self._run, self._applied, self._services.configs.snapshot().task_configs
        for id in ids:
            if run is not None and applied is not None and id in configs and not self._closed:
                self._worker.start_task(id, applied, configs[id], run.target, self._callbacks)

    def _stop_tasks(self) -> None:
        """Stop all, however long it takes: a task may be started only when its former process can do nothing more."""
        self._worker.stop_tasks(self._task_ids()).result()

    def _task_ids(self) -> tuple[ConnectorTaskId, ...]:
        return tuple(sorted(id for id in self._worker.task_ids() if id.connector == self.name))

    def _follow(self, future: Future[Any], follow: Callable[[Any], None]) -> None:
        """Call ``follow`` back on this thread when ``future`` ends, unless the connector was started anew meanwhile."""
        run = self._run

        def ended(done: Future[Any]) -> None:
            self._submit("change", lambda: self._continue(run, done, follow))

        future.add_done_callback(ended)

    def _continue(self, run: _Run | None, done: Future[Any], follow: Callable[[Any], None]) -> None:
        if run is None or run is not self._run:
            return
        error = done.exception()
        if error is None:
            follow(done.result())
        elif isinstance(error, RetriableError):
            run.retries += 1
            delay = _BACKOFF.after(run.retries)
            log.warning("%s; will try again in %g s", error, delay)
            self._services.after(delay, self.reconfigure_tasks)
        elif run.target is TargetState.STARTED:
            log.error("%s", error)
            _end_future(run.reconciled, error)
        else:
            _end_future(run.reconciled)

    def _pass_on(self, result: Future[None]) -> None:
        if self._run is None:
            result.set_exception(ConnectError(f"Connector {self.name} was removed"))
        else:
            self._run.reconciled.add_done_callback(lambda done: _end_future(result, done.exception()))


def _end_future(future: Future[None], error: BaseException | None = None) -> None:
    """End a future; one that has ended before stays as it is."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
