# SPDX-License-Identifier: Apache-2.0
"""The herder of a distributed worker: the thread on which the core's decisions are made, and its public surface."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from headrace.api.error_text import error_line
from headrace.api.errors import ConnectError, RetriableError
from headrace.distributed.action_runner import ActionRunner, HerderServices
from headrace.distributed.core import config_lag
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
from headrace.distributed.group.rebalance_recorder import RebalanceRecorder
from headrace.distributed.pending_requests import PendingRequests
from headrace.distributed.stores import Stores
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.connector_validation import ConnectorValidator
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
"""Seconds that the question whether a task is still ours may take."""
_SLOW_STAGE = 1.0
"""Seconds after which something that is waited for is named in ``stage``."""
_TOLERATED_ABSENCE = 10.0
"""Seconds without its group, or a status topic that takes statuses, that a worker's health bears."""
_CLOSING = 2.0
"""Seconds of a stop that are kept for leaving the group and closing the stores."""
_SIGNED = "All workers of the group sign what they ask of each other now"
_UNSIGNED = (
    "A worker of the group has a connect.protocol without session keys: nobody signs what workers ask of each other, "
    "so whoever reaches a worker can change task configs. Use connect.protocol=sessioned everywhere (KIP-507)"
)


@dataclass(frozen=True, slots=True)
class QueryServices:
    """What requests and queries are served with, beside the herder's own thread."""

    queries: HerderQueries
    validator: ConnectorValidator
    rebalances: RebalanceRecorder


class DistributedHerder:
    """Implements ``headrace.herder.herder.Herder``; one instance per worker, started and stopped once.

    All state belongs to the herder's thread and is published as a frozen snapshot after each event. Nothing blocks
    that thread: see ``ActionRunner``. Java: ``DistributedHerder``.
    """

    def __init__(
        self, state: HerderState, services: HerderServices, stores: Stores, surface: QueryServices, clock: Clock
    ) -> None:
        self._state = state
        self._services = services
        self._stores = stores
        self._queries = surface.queries
        self._validator = surface.validator
        self._rebalances = surface.rebalances
        self._clock = clock
        self._requests = PendingRequests()
        self._runner = ActionRunner(services, self)
        self._failure: BaseException | None = None
        self._joined = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="herder", daemon=True)

    # ---- life

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
        """Also an internal topic that is read no more: a herder that hears of nothing is as good as dead, and statuses
        and offsets that stand still would be taken for what is. And a membership that nobody watches over: others may
        have been given what runs here (invariant 10)."""
        if self._failure is None and self._state.phase is Phase.ACTIVE:
            return self._stores.failure() or self._services.member.failure()
        return self._failure

    def stage(self) -> str:
        if self._failure is not None:
            return f"the herder has failed: {self._failure}"
        slow = self._services.worker.blocked() + self._services.stages.longer_than(_SLOW_STAGE)
        waiting = f"waiting for the {slow[0]}" if slow else "waiting for the herder"
        if self._state.phase is Phase.STARTING:
            trouble = self._stores.trouble()
            return f"waiting for Kafka to answer ({trouble})" if trouble else f"reading the internal topics; {waiting}"
        if self._state.membership is None:
            trouble = self._services.member.absence() or self._services.member.trouble() or _lag(self._state)
            return f"joining the group{f' ({trouble})' if trouble else ''}; {waiting}"
        return waiting

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
        """Takes what came, decides, publishes, acts; in this order for each event."""
        for event in self._services.inbox.take():
            state, actions = step(self._state, event)
            # Published before acting: a task that starts asks other threads at once whether it is ours.
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
                self._runner.run(action)

    def fail(self, error: BaseException) -> None:
        """End for ``error``, which the first call says. Any thread may call it.

        A herder that cannot go on takes its work down with it, for nobody would hear of a lost session any more.
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
        """Others are to have this worker's work at once where it is proved to have ended, else only after its end."""
        with self._closing:
            self._requests.fail_all(ConnectError("The worker is stopping"))
            if self._state.phase is Phase.STOPPED:
                self._services.member.leave(_CLOSING)
            self._services.worker.stop(deadline.remaining())
            self._services.member.leave(_CLOSING)
            self._runner.close()
            self._stores.stop()

    # ---- what connectors and tasks ask (any thread)

    def request_task_reconfiguration(self, connector: str) -> None:
        self._services.inbox.post(events.ReconfigurationRequested(connector))

    def owns_task_generation(self, id: ConnectorTaskId) -> bool:
        """Reads the config topic to its end, so that no newer task configs are overlooked (invariants 4 and 6)."""
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
        """Made from the configuration that it meets in its turn: a patch that was overtaken is made again."""
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
            written = self._request(lambda number: make(number, checked))
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
        return map_future(self._request(lambda number: RemoveConnector(number, name, with_offsets)), lambda _: None)

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        return map_future(self._request(lambda number: PutTargetState(number, name, state)), lambda _: None)

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]:
        try:
            config = self._started_queries().connector_info(name).config
        except (NotFoundError, RetriableError) as error:
            return failed_future(error)
        return self._services.worker.connector_offsets(name, config)

    def change_offsets(self, name: str, change: OffsetsChange) -> Future[OffsetsChanged]:
        return self._ask(lambda number: events.OffsetsRequested(OffsetsRequest(number, name, change)))

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
        written = self._request(lambda number: PutRestart(number, name, only_failed, include_tasks))
        return map_future(written, lambda _: shown)

    def restart_task(self, id: ConnectorTaskId) -> Future[None]:
        return map_future(self._request(lambda number: PutTaskRestart(number, id.connector, id.task)), lambda _: None)

    def reset_active_topics(self, name: str) -> None:
        check_topic_reset(self._services.worker.config)
        self._services.statuses.reset_topics(name)

    def put_logger_level(self, logger: str, level: str) -> Future[None]:
        """A follower asks the leader itself: where users ask for levels other workers need not be able to."""
        written = self.write_logger_level(logger, level)
        return recover_future(written, NotLeaderError, lambda: self._put_logger_level_at_leader(logger, level))

    def _put_logger_level_at_leader(self, logger: str, level: str) -> Future[None]:
        membership = self._state.membership
        if membership is None:
            return failed_future(RebalanceNeededError("The group has no leader at the moment; try again"))
        url = membership.leader_url

        def put() -> None:
            # A group that has just formed has a key, but perhaps not here yet.
            key = self._services.config_store.refresh(_READ_TIMEOUT).session_key
            self._services.leader.put_logger_level(url, logger, level, key)

        return self._services.stages.run_in_background(
            f"write of the level of logger {logger} by the leader at {url}", put
        )

    def _request(self, make: Callable[[int], WriteRequest]) -> Future[bool]:
        """Ends when the write is in the topic; True if it made a connector."""
        return self._ask(lambda number: events.WriteRequested(make(number)))

    def _ask(self, make: Callable[[int], HerderEvent]) -> Future[Any]:
        """Ends with what the core replies to the request that ``make`` gets the number of."""
        failure = self.failure()
        if failure is not None:
            return failed_future(ConnectError(f"The herder has failed: {failure}"))
        future: Future[Any] = Future()
        self._services.inbox.post(make(self._requests.add(future)))
        return future

    def _not_leader_error(self) -> NotLeaderError | None:
        """Why a request cannot be served here, if that is sure already; else the core finds out in its turn."""
        membership = self._state.membership
        return None if membership is None or membership.is_leader else _not_leader(membership.leader_url)

    # ---- what other workers ask

    def signed(self) -> bool:
        return self._state.signed

    def session_key(self) -> SessionKey | None:
        return self._services.config_store.snapshot().session_key

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        return map_future(self._request(lambda number: PutTaskConfigs(name, configs, number)), lambda _: None)

    def write_logger_level(self, logger: str, level: str) -> Future[None]:
        return map_future(self._request(lambda number: PutLoggerLevel(number, logger, level)), lambda _: None)

    def fence_zombies(self, name: str) -> Future[None]:
        return map_future(self._ask(lambda number: events.FencingRequested(number, name)), lambda _: None)

    # ---- queries

    def has_started(self) -> bool:
        return self._joined

    def health_check(self) -> Future[None]:
        """Fails at once for a worker that has been without its group for a while, or could tell nobody of its work."""
        hindrance = self._hindrance() if self.failure() is None else None
        if hindrance is not None:
            return failed_future(ConnectError(hindrance))
        return map_future(self._ask(events.HealthAsked), lambda _: None)

    def _hindrance(self) -> str | None:
        absence = self._services.member.absence(_TOLERATED_ABSENCE)
        return (
            f"It has been {absence}" if absence is not None else self._services.status_store.trouble(_TOLERATED_ABSENCE)
        )

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
        """Queries about connectors. RetriableError while the config topic was not read: there may be any."""
        if self._state.phase is Phase.STARTING:
            raise RetriableError(f"The worker is starting: {self.stage()}")
        return self._queries


def _lag(state: HerderState) -> str | None:
    """Why it cannot join yet, if the config topic is what it waits for."""
    if not config_lag.is_behind(state):
        return None
    return f"the config topic is read up to offset {state.config.offset}, the group is at {state.needed_offset}"


def _not_leader(leader_url: str) -> NotLeaderError:
    return NotLeaderError(f"Only the group's leader can do this; it is at {leader_url}", leader_url)
