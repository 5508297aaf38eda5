# SPDX-License-Identifier: Apache-2.0
"""One connector of a standalone worker: brings what runs in line with what is configured."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from headrace.api.errors import ConnectError, RetriableError
from headrace.model.cluster_config_state import Config
from headrace.model.ids import ConnectorTaskId
from headrace.model.state import TargetState
from headrace.standalone.status_keeper import StatusKeeper
from headrace.storage.memory_config_backing_store import MemoryConfigBackingStore
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore
from headrace.worker.callbacks import ConnectorCallbacks, TaskCallbacks
from headrace.worker.config_watch import After
from headrace.worker.stages import SerialExecutor, Stages
from headrace.worker.worker import Worker

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_RETRY: Final = 0.25
_LAST_RETRY: Final = 60.0
"""Seconds before task configs that could not be made are tried again, doubled each time; as in Kafka Connect."""


class Callbacks(ConnectorCallbacks, TaskCallbacks, Protocol):
    """What connectors and tasks ask of the herder."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What a connector is run with; the same for all connectors."""

    worker: Worker
    configs: MemoryConfigBackingStore
    statuses: MemoryStatusBackingStore
    keeper: StatusKeeper
    stages: Stages
    after: After


@dataclass(eq=False, slots=True)
class _Run:
    """One start of the connector. ``settled`` ends when it has the tasks it wants, or none as it is not to run."""

    config: Config
    target: TargetState
    settled: Future[None] = field(default_factory=Future)
    retries: int = 0


class ManagedConnector:
    """Public methods return at once. The rest runs on the connector's own thread, so one after the other.

    As in the distributed herder nothing remembers how things came to be: what is wanted, in the config store, is
    compared with what runs. What a start or a call of the connector takes is not waited for on that thread, so that a
    connector that hangs can be stopped.
    """

    def __init__(self, name: str, hands: Hands, callbacks: Callbacks) -> None:
        self.name = name
        self._worker = hands.worker
        self._hands = hands
        self._callbacks = callbacks
        self._thread = SerialExecutor(f"herder of {name}", hands.stages, log_as=name)
        self._run: _Run | None = None
        self._applied: Config | None = None
        """The connector's configuration that its tasks were started with."""
        self._closed = False

    def settle(self) -> Future[None]:
        """To be called after each change in the config store. Ends when whatever has to stop has stopped."""
        return self._submit("change", self._settle)

    def started(self) -> Future[None]:
        """Ends when the connector and its tasks have been started; raises what prevented it. Call it after ``settle``.

        A connector that is not to run has nothing to start."""
        result: Future[None] = Future()
        self._submit("start", lambda: self._pass_on(result))
        return result

    def recompute(self) -> None:
        """The connector is asked for task configurations again, and its tasks brought in line."""
        self._submit("task configs", self._ask)

    def restart(self, connector: bool, tasks: Sequence[int]) -> Future[None]:
        """A new instance of the connector, if so, and new processes of those of ``tasks`` that there are."""
        return self._submit("restart", lambda: self._restart(connector, tasks))

    def exclusively(self, what: str, work: Callable[[], T]) -> Future[T]:
        """Does ``work``, which may block, when all changes so far have been followed, and follows none meanwhile."""
        return self._thread.submit(f"{what} of connector {self.name}", work)

    def close(self) -> None:
        """Nothing more is begun. Neither connector nor tasks are stopped: that is the worker's part."""
        self._closed = True
        self._thread.close()

    def _submit(self, what: str, work: Callable[[], None]) -> Future[None]:
        done = self._thread.submit(f"{what} of connector {self.name}", lambda: None if self._closed else work())
        done.add_done_callback(self._tell_if_broken)
        return done

    def _tell_if_broken(self, done: Future[None]) -> None:
        error = done.exception()
        if error is not None:
            log.error("Connector %s could not be brought in line with its configuration", self.name, exc_info=error)

    # ---- on the connector's thread

    def _settle(self) -> None:
        state = self._hands.configs.snapshot()
        config, target = state.connector_config(self.name), state.target_state(self.name)
        if config is None or target is None:
            self._end()
        elif self._run is None or self._run.config is not config:
            self._begin(config, target)
        elif self._run.target is not target:
            self._run.target = target
            self._align_tasks(target)
            self._follow(self._worker.set_connector_target_state(self.name, target), lambda _: self._ask())

    def _end(self) -> None:
        self._run = self._applied = None
        self._worker.stop_connector(self.name).result()
        self._stop_tasks()
        self._hands.statuses.delete(self.name)

    def _begin(self, config: Config, target: TargetState) -> None:
        """Also of a new instance in place of one with an older configuration; its tasks go on until it has made new
        ones, as in Kafka Connect."""
        self._worker.stop_connector(self.name).result()
        self._run = _Run(config, target)
        self._align_tasks(target)
        started = self._worker.start_connector(self.name, config, target, self._callbacks)
        self._follow(started, lambda _: self._ask())

    def _restart(self, connector: bool, tasks: Sequence[int]) -> None:
        run, present = self._run, self._hands.configs.snapshot().tasks(self.name)
        if run is None:
            return
        ids = [id for id in present if id.task in tasks]
        self._worker.stop_tasks(ids).result()
        for id in ids:
            self._hands.keeper.on_restart(id, None)
        if connector:
            self._worker.stop_connector(self.name).result()
            self._hands.keeper.on_restart(self.name, None)
            self._begin(run.config, run.target)
        self._start_tasks(ids)

    def _align_tasks(self, target: TargetState) -> None:
        if target is TargetState.STOPPED:
            self._replace_tasks(())
            self._applied = None
        for id in self._task_ids():
            self._worker.set_task_target_state(id, target)

    def _ask(self) -> None:
        """As in Kafka Connect a paused connector makes no task configs: changes wait until it is resumed."""
        if self._run is None:
            return
        if self._run.target is TargetState.STARTED:
            self._follow(self._worker.connector_task_configs(self.name), self._apply)
        else:
            _end_future(self._run.settled)

    def _apply(self, configs: Sequence[Config]) -> None:
        assert self._run is not None  # what follows a run that is over is not called
        if self._run.target is not TargetState.STOPPED:
            present = self._hands.configs.snapshot().all_task_configs(self.name)
            # Converters and transformations are read from the connector's own configuration.
            if self._applied is not self._run.config or [*map(dict, present)] != [*map(dict, configs)]:
                self._replace_tasks(configs)
                self._applied = self._run.config
                self._start_tasks(self._hands.configs.snapshot().tasks(self.name))
            self._run.retries = 0
        _end_future(self._run.settled)

    def _replace_tasks(self, configs: Sequence[Config]) -> None:
        self._stop_tasks()
        self._hands.configs.put_task_configs(self.name, configs)
        self._hands.statuses.delete_tasks(self.name, remaining=len(configs))

    def _start_tasks(self, ids: Sequence[ConnectorTaskId]) -> None:
        """Those that the connector still has: it may have been removed meanwhile."""
        run, applied, configs = self._run, self._applied, self._hands.configs.snapshot().task_configs
        for id in ids:
            if run is not None and applied is not None and id in configs and not self._closed:
                self._worker.start_task(id, applied, configs[id], run.target, self._callbacks)

    def _stop_tasks(self) -> None:
        """However long it takes: a task may be started anew only when its former process can do nothing more."""
        self._worker.stop_tasks(self._task_ids()).result()

    def _task_ids(self) -> tuple[ConnectorTaskId, ...]:
        return tuple(sorted(id for id in self._worker.task_ids() if id.connector == self.name))

    def _follow(self, future: Future[Any], follow: Callable[[Any], None]) -> None:
        """Goes on, back on this thread, when ``future`` ends; not if the connector was started anew meanwhile."""
        run = self._run

        def ended(done: Future[Any]) -> None:
            self._submit("change", lambda: self._went_on(run, done, follow))

        future.add_done_callback(ended)

    def _went_on(self, run: _Run | None, done: Future[Any], follow: Callable[[Any], None]) -> None:
        if run is None or run is not self._run:
            return
        error = done.exception()
        if error is None:
            follow(done.result())
        elif isinstance(error, RetriableError):
            delay = min(_LAST_RETRY, _FIRST_RETRY * 2.0**run.retries)
            run.retries += 1
            log.warning("%s; will try again in %g s", error, delay)
            self._hands.after(delay, self.recompute)
        elif run.target is TargetState.STARTED:
            log.error("%s", error)
            _end_future(run.settled, error)
        else:
            _end_future(run.settled)

    def _pass_on(self, result: Future[None]) -> None:
        if self._run is None:
            result.set_exception(ConnectError(f"Connector {self.name} was removed"))
        else:
            self._run.settled.add_done_callback(lambda done: _end_future(result, done.exception()))


def _end_future(future: Future[None], error: BaseException | None = None) -> None:
    """What has ended before stays as it is."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
