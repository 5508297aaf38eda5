# SPDX-License-Identifier: Apache-2.0
"""The herder of a distributed worker: the thread on which the core makes its decisions, and its public methods."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from headrace.api.error_text import error_line
from headrace.api.errors import ConnectError, RetriableError
from headrace.distributed.action_runner import ActionRunner
from headrace.distributed.core import herder_events as events
from headrace.distributed.core.config_writes import (
    OffsetsRequest,
    PutConnector,
    PutLoggerLevel,
    PutRestart,
    PutTargetState,
    PutTaskConfigs,
    PutTaskRestart,
    RemoveConnector,
    WriteRequest,
)
from headrace.distributed.core.herder_actions import HerderAction, Leave, RefuseNotLeader, Reply
from headrace.distributed.core.herder_core import step
from headrace.distributed.core.herder_events import HerderEvent
from headrace.distributed.core.herder_state import HerderState, Phase
from headrace.distributed.herder_health import HerderHealth
from headrace.distributed.herder_services import HerderServices, QueryServices
from headrace.distributed.pending_requests import PendingRequests
from headrace.distributed.stores import Stores
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.errors import NotFoundError, NotLeaderError, OvertakenError, RebalanceNeededError
from headrace.herder.herder import PutResult
from headrace.herder.herder_queries import HerderQueries, check_topic_reset, check_topic_tracking
from headrace.herder.restart_plan import restart_plan_from_status, with_restarting
from headrace.metrics import WorkerFigures
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.deadline import Clock, Deadline
from headrace.model.futures import chain_future, failed_future, map_future, recover_future
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
)
from headrace.model.offsets import OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState

log = logging.getLogger(__name__)

_READ_TIMEOUT = 60.0
"""Seconds that a read of the config topic to its end may take."""
_CLOSING = 2.0
"""Seconds of a stop that are reserved for leaving the group and closing the stores."""
_SIGNED = "All workers of the group sign what they ask of each other now"
_UNSIGNED = (
    "A worker of the group has a connect.protocol without session keys: nobody signs what workers ask of each other, "
    "so whoever reaches a worker can change task configs. Use connect.protocol=sessioned everywhere (KIP-507)"
)


class DistributedHerder:
    """Implements ``headrace.herder.herder.Herder``; one instance per worker, started and stopped once.

    All state belongs to the herder's thread and is published as a frozen snapshot after each event. Nothing blocks
    that thread: see ``ActionRunner``. Java: ``DistributedHerder``.
    """

    def __init__(
        self, state: HerderState, services: HerderServices, stores: Stores, query_services: QueryServices, clock: Clock
    ) -> None:
        self._state = state
        self._services = services
        self._stores = stores
        self._queries = query_services.queries
        self._validator = query_services.validator
        self._rebalances = query_services.rebalances
        self._clock = clock
        self._health = HerderHealth(services, stores)
        self._requests = PendingRequests()
        self._runner = ActionRunner(services, self)
        self._failure: BaseException | None = None
        self._joined = False
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

    def failure(self) -> BaseException | None:
        """Return the reason why this herder can do no more, None while it works."""
        return self._failure or self._health.failure(self._state)

    def stage(self) -> str:
        return f"the herder has failed: {self._failure}" if self._failure else self._health.stage(self._state)

    def _stores_started(self) -> None:
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
            # Published before acting: a task that starts makes other threads read at once that it is this worker's.
            if state.signed != self._state.signed:
                log.warning("%s", _SIGNED if state.signed else _UNSIGNED)
            self._state = state
            self._joined = self._joined or state.membership is not None
            for action in actions:
                self._act(action)

    def _act(self, action: HerderAction) -> None:
        match action:
            case Reply(request=request, error=None):
                self._requests.succeed(request, action.created if action.result is None else action.result)
            case Reply(request=request, error=error) if error is not None:
                self._requests.fail(request, error)
            case RefuseNotLeader(request=request, leader_url=url):
                self._requests.fail(request, _not_leader(url))
            case Leave():
                pass
            case _:
                self._runner.perform(action)

    def fail(self, error: BaseException) -> None:
        """End for ``error``, that of the first call. Any thread may call it.

        A herder that cannot go on stops its work as well, for it would miss the loss of its session.
        """
        if self._failure is not None:
            return
        self._failure = error
        self._requests.fail_all(ConnectError(f"The herder has failed: {error_line(error)}"))
        self._services.inbox.post(events.StopRequested())
        self._services.stages.run_in_background(
            "stop after a failure", lambda: self._close(Deadline.after(_CLOSING, self._clock))
        )

    def _close(self, deadline: Deadline) -> None:
        """Leave the group before the worker stops if all work has ended, else afterwards: no work runs twice."""
        with self._closing:
            self._requests.fail_all(ConnectError("The worker is stopping"))
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
        """Return True if the task may go on here. Blocks.

        Reads the config topic to its end, so that no newer task configs are overlooked (invariants 4 and 6).
        """
        config = self._services.config_store.refresh(_READ_TIMEOUT)
        reason = (
            self._state.refusal(id, config) if self._services.member.in_session() else "this worker is in no session"
        )
        if reason is not None:
            log.warning("Task %s may not go on here: %s", id, reason)
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
        return self._put(
            name, config, lambda number, checked: PutConnector(number, name, checked, target_state, allow_replace)
        )

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Future[PutResult]:
        """Patch the configuration that is the newest when the write's turn comes: repeat an overtaken patch."""
        elsewhere = self._not_leader_error()
        if elsewhere is not None:
            return failed_future(elsewhere)
        try:
            base = self._started_queries().connector_info(name).config
        except (NotFoundError, RetriableError) as error:
            return failed_future(error)
        patched = {key: text for key, text in {**base, **patch}.items() if key not in patch or text is not None}
        put = self._put(
            name, patched, lambda number, checked: PutConnector(number, name, checked, None, True, base=base)
        )
        return recover_future(put, OvertakenError, lambda: self.patch_connector_config(name, patch))

    def _put(
        self, name: str, config: Config, make: Callable[[int, dict[str, str | None]], PutConnector]
    ) -> Future[PutResult]:
        def put(checked: dict[str, str | None]) -> Future[PutResult]:
            written = self._submit_write(lambda number: make(number, checked))
            return map_future(
                written, lambda created: PutResult(created, self._queries.describe_connector(name, checked))
            )

        elsewhere = self._not_leader_error()
        if elsewhere is not None:  # the leader will validate it anyway
            return failed_future(elsewhere)
        stage = f"validation of the configuration of connector {name}"
        return chain_future(
            self._services.stages.run_in_background(stage, lambda: self._validator.check(name, config)), put
        )

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        stage = f"validation of a configuration for {plugin}"
        return self._services.stages.run_in_background(stage, lambda: self._validator.validate(plugin, config))

    def connector_plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]:
        return self._services.stages.run_in_background(
            f"config of plugin {plugin}", lambda: self._validator.plugin_config(plugin)
        )

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
        """Write a level for the whole group.

        A follower forwards it to the leader itself: the listener for this may be one that other workers cannot reach.
        """
        written = self.write_logger_level(logger, level)
        return recover_future(written, NotLeaderError, lambda: self._put_logger_level_at_leader(logger, level))

    def _put_logger_level_at_leader(self, logger: str, level: str) -> Future[None]:
        membership = self._state.membership
        if membership is None:
            return failed_future(RebalanceNeededError("The group has no leader at the moment; try again"))
        url = membership.leader_url

        def put() -> None:
            # A group that has just formed has a key, which this worker may not have read yet.
            key = self._services.config_store.refresh(_READ_TIMEOUT).session_key
            self._services.leader.put_logger_level(url, logger, level, key)

        return self._services.stages.run_in_background(
            f"write of the level of logger {logger} by the leader at {url}", put
        )

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
        return None if membership is None or membership.is_leader else _not_leader(membership.leader_url)

    # ---- requests of other workers

    def signed(self) -> bool:
        return self._state.signed

    def session_key(self) -> SessionKey | None:
        return self._services.config_store.snapshot().session_key

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        return map_future(self._submit_write(lambda number: PutTaskConfigs(name, configs, number)), lambda _: None)

    def write_logger_level(self, logger: str, level: str) -> Future[None]:
        return map_future(self._submit_write(lambda number: PutLoggerLevel(number, logger, level)), lambda _: None)

    def fence_zombies(self, name: str) -> Future[None]:
        return map_future(self._submit(lambda number: events.FencingRequested(number, name)), lambda _: None)

    # ---- queries

    def has_started(self) -> bool:
        return self._joined

    def health_check(self) -> Future[None]:
        """Fail at once for a worker that has been without its group for a while, or cannot write statuses."""
        problem = self._health.problem() if self.failure() is None else None
        if problem is not None:
            return failed_future(ConnectError(problem))
        return map_future(self._submit(events.HealthAsked), lambda _: None)

    def figures(self) -> WorkerFigures:
        return replace(self._services.worker.figures(), group=self._rebalances.figures(self._state.membership))

    def server_info(self) -> ServerInfo:
        return self._queries.server_info()

    def connectors(self) -> tuple[str, ...]:
        return self._started_queries().connectors()

    def connector_info(self, name: str) -> ConnectorInfo:
        return self._started_queries().connector_info(name)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return self._started_queries().connector_status(name)

    def task_status(self, id: ConnectorTaskId) -> TaskState:
        return self._started_queries().task_status(id)

    def spark_attempts(self, name: str) -> Future[Mapping[int, SparkAttempt]]:
        return self._services.worker.spark_attempts(name)

    def active_topics(self, name: str) -> tuple[str, ...]:
        check_topic_tracking(self._services.worker.config)
        return self._started_queries().active_topics(name)

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]:
        return self._started_queries().task_infos(name)

    def connector_plugins(self, connectors_only: bool = True) -> tuple[PluginInfo, ...]:
        return self._queries.connector_plugins(connectors_only)

    def _started_queries(self) -> HerderQueries:
        """Return the queries about connectors. Raise RetriableError while the config topic has not been read yet."""
        if self._state.phase is Phase.STARTING:
            raise RetriableError(f"The worker is starting: {self.stage()}")
        return self._queries


def _not_leader(leader_url: str) -> NotLeaderError:
    return NotLeaderError(f"Only the group's leader can do this; it is at {leader_url}", leader_url)
