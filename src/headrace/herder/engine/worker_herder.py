# SPDX-License-Identifier: Apache-2.0
"""The herder of a worker: the thread on which the core makes its decisions, and its public methods."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from headrace.api.error_text import error_line
from headrace.api.errors import ConnectError, RetriableError
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import (
    OffsetsRequest,
    PutConnector,
    PutLoggerLevel,
    PutRestart,
    PutTargetState,
    PutTaskRestart,
    RemoveConnector,
    WriteRequest,
)
from headrace.herder.core.herder_actions import HerderAction, Leave, RefuseNotLeader, Reply
from headrace.herder.core.herder_core import step
from headrace.herder.core.herder_events import HerderEvent
from headrace.herder.core.herder_state import HerderState, Phase
from headrace.herder.core.local_work import task_configs_errors
from headrace.herder.engine.action_runner import ActionRunner
from headrace.herder.engine.audited_actions import log_decision
from headrace.herder.engine.automatic_restarts import AutomaticRestarts
from headrace.herder.engine.config_requests import ConfigRequests
from headrace.herder.engine.herder_inbox import PendingRequests
from headrace.herder.engine.herder_services import HerderHealth, HerderServices, QueryServices, Stores
from headrace.herder.engine.statuses import restart_plan_from_status, with_restarting
from headrace.herder.errors import NotFoundError, NotLeaderError
from headrace.herder.herder import PutResult
from headrace.herder.herder_queries import HerderQueries, check_topic_reset, check_topic_tracking
from headrace.herder.worker_parts import Json
from headrace.metrics.figures import WorkerFigures
from headrace.model.deadline import Clock, Deadline
from headrace.model.futures import failed_future, map_future
from headrace.model.health import TaskConfigsError
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStateInfo,
    OffsetBounds,
    OffsetsChange,
    OffsetsChanged,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
    WorkersInfo,
)
from headrace.model.state import TargetState
from headrace.worker.tasks.task_basis import TaskBasis
from headrace.worker.worker import Worker

log = logging.getLogger(__name__)

READ_TIMEOUT = 60.0
"""Seconds that a read of the config topic to its end may take."""
_CLOSING = 2.0
"""Seconds of a stop that are reserved for leaving the group and closing the stores."""


class WorkerHerder:
    """Implements ``headrace.herder.herder.Herder``; one instance per worker, started and stopped once.

    All state belongs to the herder's thread and is published as a frozen snapshot after each event. Nothing blocks
    that thread: see ``ActionRunner``. A worker of a group and one that is alone differ in what they are given: in their
    membership, their stores and their health. Java: ``AbstractHerder``, with what its heirs ``DistributedHerder`` and
    ``StandaloneHerder`` each do in their own way.
    """

    def __init__(
        self,
        state: HerderState,
        services: HerderServices,
        stores: Stores,
        health: HerderHealth,
        query_services: QueryServices,
        clock: Clock,
    ) -> None:
        self._state = state
        self._services = services
        self._stores = stores
        self._queries = query_services.queries
        self._connector_health = query_services.health
        self._connector_history = query_services.history
        self._workers = query_services.workers
        self._clock = clock
        self._health = health
        self._requests = PendingRequests()
        self._config_requests = ConfigRequests(
            query_services, services.stages, self._submit_write, self._not_leader_error
        )
        self._restarts = AutomaticRestarts(state.restarts, services.status_store, services.statuses)
        self._runner = ActionRunner(services, self, self._restarts, clock)
        self._failure: BaseException | None = None
        self._stores_read = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="herder", daemon=True)

    # ---- life cycle

    def start(self) -> None:
        self._services.worker.start()
        self._thread.start()
        self._stores.start(self._stores_started, self.fail)

    def stop(self, timeout: float) -> None:
        deadline = Deadline.after(timeout, self._clock)
        self._services.inbox.post(events.StopRequested())
        if self._thread.is_alive():
            self._thread.join(max(0.0, deadline.remaining() - _CLOSING))
        self._close(deadline)

    @property
    def state(self) -> HerderState:
        """The newest published snapshot; read from any thread."""
        return self._state

    @property
    def worker(self) -> Worker:
        """The worker, for observers of its connectors and tasks."""
        return self._services.worker

    def failure(self) -> BaseException | None:
        """Return the reason why this herder can do no more, None while it works."""
        return self._failure or self._health.failure(self._state)

    def stage(self) -> str:
        return f"the herder has failed: {self._failure}" if self._failure else self._health.stage(self._state)

    def remark(self) -> str | None:
        """Return a defect of a worker that still works, for ``/health``."""
        return self._health.remark()

    def _stores_started(self) -> None:
        self._stores_read = True
        self._services.inbox.post(events.StoresStarted(self._services.config_store.snapshot()))

    # ---- the herder's thread

    def _run(self) -> None:
        try:
            while self._state.phase is not Phase.STOPPED:
                self._tick()
        except BaseException as error:
            log.exception("The herder has failed")
            self.fail(error)

    def _tick(self) -> None:
        """Take the pending events; for each of them decide, publish the new state and act, in this order."""
        for event in self._services.inbox.take():
            state, actions = step(self._state, event)
            log_decision(event, actions)
            # Published before acting: a task that starts makes other threads read at once that it is this worker's.
            self._publish(state)
            for action in actions:
                self._act(action)

    def _publish(self, state: HerderState) -> None:
        self._state = state

    def _act(self, action: HerderAction) -> None:
        match action:
            case Reply(request=request, error=None):
                self._requests.succeed(request, action.created if action.result is None else action.result)
            case Reply(request=request, error=error) if error is not None:
                self._requests.fail(request, error)
            case RefuseNotLeader(request=request, leader_url=url):
                self._requests.fail(request, NotLeaderError.at(url))
            case Leave():
                pass
            case _:
                self._runner.perform(action)

    def fail(self, error: BaseException) -> None:
        """End for ``error``, that of the first call. Any thread may call it.

        A herder that cannot continue stops its work as well, for it would miss the loss of its session.
        """
        if self._failure is not None:
            return
        self._failure = error
        self._requests.close(ConnectError(f"The herder has failed: {error_line(error)}"))
        self._services.inbox.post(events.StopRequested())
        self._services.stages.run_in_background(
            "stop after a failure", lambda: self._close(Deadline.after(_CLOSING, self._clock))
        )

    def _close(self, deadline: Deadline) -> None:
        """Leave the group before the worker stops if all work has ended, else afterwards: no work runs twice."""
        with self._closing:
            self._requests.close(ConnectError("The worker is stopping"))
            if self._state.phase is Phase.STOPPED:
                self._services.member.leave(_CLOSING)
            self._services.worker.stop(deadline.remaining())
            self._services.member.leave(_CLOSING)
            self._runner.close()
            self._stores.stop()

    # ---- callbacks of connectors and tasks (any thread)

    def request_task_reconfiguration(self, connector: str) -> None:
        self._services.inbox.post(events.ReconfigurationRequested(connector))

    def owns_task_generation(self, id: ConnectorTaskId) -> bool:
        """Return True if the task may continue here. Blocks.

        Reads the config topic to its end, so that no newer task configs are overlooked (invariants 4 and 6).
        """
        config = self._services.config_store.refresh(READ_TIMEOUT)
        reason = (
            self._state.refusal(id, config) if self._services.member.in_session() else "this worker is in no session"
        )
        if reason is not None:
            log.warning("Task %s may not continue here: %s", id, reason)
        return reason is None

    # ---- requests

    def put_connector_config(
        self,
        name: str,
        config: Mapping[str, str | None],
        *,
        target_state: TargetState | None,
        allow_replace: bool,
    ) -> Future[PutResult]:
        return self._config_requests.put(
            name, config, lambda number, checked: PutConnector(number, name, checked, target_state, allow_replace)
        )

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Future[PutResult]:
        return self._config_requests.patch(name, patch, lambda: self._started_queries().connector_info(name).config)

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        return self._config_requests.validate(plugin, config)

    def task_basis(self, config: Mapping[str, str | None], task: int) -> Future[TaskBasis]:
        return self._services.worker.task_basis(config, task)

    def connector_plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]:
        return self._config_requests.plugin_config(plugin)

    def delete_connector(self, name: str, *, with_offsets: bool = False) -> Future[None]:
        return map_future(
            self._submit_write(lambda number: RemoveConnector(number, name, with_offsets)), lambda _: None
        )

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        return map_future(self._submit_write(lambda number: PutTargetState(number, name, state)), lambda _: None)

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]:
        try:
            config = self._started_queries().connector_info(name).config
        except (NotFoundError, RetriableError) as error:
            return failed_future(error)
        return self._services.worker.connector_offsets(name, config)

    def offset_bounds(self, name: str) -> Future[OffsetBounds | None]:
        try:
            config = self._started_queries().connector_info(name).config
        except (NotFoundError, RetriableError) as error:
            return failed_future(error)
        return self._services.worker.offset_bounds(name, config)

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        return self._submit(lambda number: events.OffsetsRequested(OffsetsRequest(number, name, change)))

    def restart_connector(self, name: str, *, only_failed: bool, include_tasks: bool) -> Future[ConnectorStateInfo]:
        elsewhere = self._not_leader_error()
        if elsewhere is not None:
            return failed_future(elsewhere)
        try:
            status = self._started_queries().connector_status(name)
        except (NotFoundError, RetriableError) as error:
            return failed_future(error)
        shown = with_restarting(
            status, restart_plan_from_status(status, only_failed=only_failed, include_tasks=include_tasks)
        )
        written = self._submit_write(lambda number: PutRestart(number, name, only_failed, include_tasks))
        return map_future(written, lambda _: shown)

    def restart_task(self, id: ConnectorTaskId) -> Future[None]:
        return map_future(
            self._submit_write(lambda number: PutTaskRestart(number, id.connector, id.task)), lambda _: None
        )

    def reset_active_topics(self, name: str) -> None:
        check_topic_reset(self._services.worker.config)
        self._services.statuses.reset_topics(name)

    def put_logger_level(self, logger: str, level: str) -> Future[None]:
        return map_future(self._submit_write(lambda number: PutLoggerLevel(number, logger, level)), lambda _: None)

    def connector_started(self, name: str) -> Future[None]:
        """Wait for the start of a connector and its tasks, on a worker that is alone.

        The future raises the error that prevented it. A connector that is not to run has nothing to start.
        """
        return map_future(self._submit(lambda number: events.StartAwaited(number, name)), lambda _: None)

    def _submit_write(self, make: Callable[[int], WriteRequest]) -> Future[bool]:
        """Return a future that ends when the write is in the topic; True if it created a connector."""
        return self._submit(lambda number: events.WriteRequested(make(number)))

    def _submit(self, make: Callable[[int], HerderEvent]) -> Future[Any]:
        """Post the event that ``make`` returns for a request's number; the future ends with the core's reply."""
        failure = self.failure()
        if failure is not None:
            return failed_future(ConnectError(f"The herder has failed: {failure}"))
        future: Future[Any] = Future()
        self._services.inbox.post(make(self._requests.add(future)))
        return future

    def _not_leader_error(self) -> NotLeaderError | None:
        """Return the error for a request to a follower; None if this worker may lead, which the core decides."""
        membership = self._state.membership
        return None if membership is None or membership.is_leader else NotLeaderError.at(membership.leader_url)

    # ---- queries

    def has_started(self) -> bool:
        return self._health.has_started(self._state)

    def health_check(self) -> Future[None]:
        """Fail at once for a worker that has a problem, with its description."""
        problem = self._health.problem() if self.failure() is None else None
        if problem is not None:
            return failed_future(ConnectError(problem))
        return map_future(self._submit(events.HealthAsked), lambda _: None)

    def figures(self) -> WorkerFigures:
        return self._restarts.with_restarts(self._services.worker.figures(), self._state.config)

    def server_info(self) -> ServerInfo:
        return self._queries.server_info()

    def connectors(self) -> tuple[str, ...]:
        return self._started_queries().connectors()

    def revision(self) -> tuple[int, int]:
        return self._started_queries().revision()

    def connector_info(self, name: str) -> ConnectorInfo:
        return self._started_queries().connector_info(name)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return self._started_queries().connector_status(name)

    def task_status(self, id: ConnectorTaskId) -> TaskState:
        return self._started_queries().task_status(id)

    def spark_attempts(self, name: str) -> Future[Mapping[int, SparkAttempt]]:
        return self._services.worker.spark_attempts(name)

    def connector_health(self, names: Sequence[str]) -> Future[Mapping[str, Json]]:
        health = self._connector_health.of(names, self._task_configs_errors)
        return map_future(health, lambda found: self._restarts.with_health(found, self._state.config))

    def connector_history(self, name: str | None) -> Future[Json]:
        return self._connector_history.of(name)

    def workers(self) -> Future[WorkersInfo]:
        return self._workers.all()

    def worker_ids(self) -> frozenset[str]:
        """Return the ids of all workers of the cluster. Blocks while the leader is asked for them."""
        return self._workers.ids()

    def _task_configs_errors(self) -> Mapping[str, TaskConfigsError]:
        return task_configs_errors(self._state, self._clock())

    def active_topics(self, name: str) -> tuple[str, ...]:
        check_topic_tracking(self._services.worker.config)
        return self._started_queries().active_topics(name)

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]:
        return self._started_queries().task_infos(name)

    def connector_plugins(self, connectors_only: bool = True) -> tuple[PluginInfo, ...]:
        return self._queries.connector_plugins(connectors_only)

    def _started_queries(self) -> HerderQueries:
        """Return the queries about connectors. Raise RetriableError while the stores have not been read yet."""
        if not self._stores_read:
            raise RetriableError(f"The worker is starting: {self.stage()}")
        return self._queries
