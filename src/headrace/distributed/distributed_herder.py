# SPDX-License-Identifier: Apache-2.0
"""The herder of a distributed worker: the thread on which the core's decisions are made, and its public surface."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from headrace.api.errors import ConnectError, RetriableError
from headrace.distributed import herder_events as events
from headrace.distributed.action_runner import ActionRunner, Hands
from headrace.distributed.chained_futures import chained, mapped
from headrace.distributed.config_writes import PutConnector, PutTargetState, RemoveConnector, UserWrite
from headrace.distributed.herder_actions import HerderAction, Leave, RefuseNotLeader, Reply
from headrace.distributed.herder_core import step
from headrace.distributed.herder_state import HerderState, Phase
from headrace.distributed.pending_requests import PendingRequests
from headrace.distributed.stores import Stores
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.errors import NotFoundError, NotLeaderError
from headrace.herder.herder import PutResult
from headrace.herder.herder_queries import HerderQueries
from headrace.model.deadline import Clock, Deadline
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorInfo, ConnectorOffset, ConnectorStateInfo, PluginInfo, ServerInfo, TaskInfo
from headrace.model.state import TargetState
from headrace.worker.futures import failed_future

_log = logging.getLogger(__name__)

_READ_TIMEOUT = 60.0
"""Seconds that the question whether a task is still ours may take."""
_WORTH_TELLING = 1.0
"""Seconds after which something that is waited for is named in ``stage``."""
_CLOSING = 2.0
"""Seconds of a stop that are kept for leaving the group and closing the stores."""


@dataclass(frozen=True, slots=True)
class Surface:
    """What requests and queries are served with, beside the herder's own thread."""

    queries: HerderQueries
    validator: ConnectorValidator


class DistributedHerder:
    """Implements ``headrace.herder.herder.Herder``; one instance per worker, started and stopped once.

    All state belongs to the herder's thread and is published as a frozen snapshot after each event. Nothing blocks
    that thread: see ``ActionRunner``. Java: ``DistributedHerder``.
    """

    def __init__(self, state: HerderState, hands: Hands, stores: Stores, surface: Surface, clock: Clock) -> None:
        self._state = state
        self._hands = hands
        self._stores = stores
        self._queries = surface.queries
        self._validator = surface.validator
        self._clock = clock
        self._requests = PendingRequests()
        self._runner = ActionRunner(hands, self)
        self._failure: BaseException | None = None
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="herder", daemon=True)

    # ---- life

    def start(self) -> None:
        self._hands.worker.start()
        self._thread.start()
        self._stores.start(self._stores_started, self._fail)

    def stop(self, timeout: float) -> None:
        deadline = Deadline.after(timeout, self._clock)
        self._hands.inbox.post(events.StopRequested())
        if self._thread.is_alive():
            self._thread.join(max(0.0, deadline.remaining() - _CLOSING))
        self._close(deadline)

    def failure(self) -> BaseException | None:
        """Also a config topic that is read no more: a herder that hears of nothing is as good as dead."""
        if self._failure is None and self._state.phase is Phase.ACTIVE:
            return self._hands.config_store.failure()
        return self._failure

    def stage(self) -> str:
        if self._failure is not None:
            return f"the herder has failed: {self._failure}"
        slow = self._hands.worker.blocked() + self._hands.stages.longer_than(_WORTH_TELLING)
        waiting = f"waiting for the {slow[0]}" if slow else "waiting for the herder"
        if self._state.phase is Phase.STARTING:
            trouble = self._stores.trouble()
            return f"waiting for Kafka to answer ({trouble})" if trouble else f"reading the internal topics; {waiting}"
        if self._state.membership is None:
            trouble = self._hands.member.trouble()
            return f"joining the group{f' ({trouble})' if trouble else ''}; {waiting}"
        return waiting

    def _stores_started(self) -> None:
        self._hands.inbox.post(events.StoresStarted(self._hands.config_store.snapshot()))

    # ---- the herder's thread

    def _run(self) -> None:
        try:
            while self._state.phase is not Phase.STOPPED:
                self._tick()
        except BaseException as error:
            _log.exception("The herder has failed")
            self._fail(error)

    def _tick(self) -> None:
        """Takes what came, decides, publishes, acts; in this order for each event."""
        for event in self._hands.inbox.take():
            state, actions = step(self._state, event)
            # Published before acting: a task that starts asks other threads at once whether it is ours.
            self._state = state
            for action in actions:
                self._act(action)

    def _act(self, action: HerderAction) -> None:
        match action:
            case Reply(request=request, error=None):
                self._requests.succeed(request, action.created)
            case Reply(request=request, error=error) if error is not None:
                self._requests.fail(request, error)
            case RefuseNotLeader(request=request, leader_url=url):
                error = NotLeaderError(f"Only the group's leader can do this; it is at {url}", url)
                self._requests.fail(request, error)
            case Leave():
                pass
            case _:
                self._runner.run(action)

    def _fail(self, error: BaseException) -> None:
        """A herder that cannot go on takes its work down with it, for nobody would hear of a lost session any more."""
        self._failure = error
        self._requests.fail_all(ConnectError(f"The herder has failed: {error}"))
        self._hands.inbox.post(events.StopRequested())
        self._hands.stages.run("stop after a failure", lambda: self._close(Deadline.after(_CLOSING, self._clock)))

    def _close(self, deadline: Deadline) -> None:
        """Others are to have this worker's work at once where it is proved to have ended, else only after its end."""
        with self._closing:
            self._requests.fail_all(ConnectError("The worker is stopping"))
            if self._state.phase is Phase.STOPPED:
                self._hands.member.leave(_CLOSING)
            self._hands.worker.stop(deadline.remaining())
            self._hands.member.leave(_CLOSING)
            self._stores.stop()

    # ---- what connectors and tasks ask (any thread)

    def reconfigure(self, connector: str) -> None:
        self._hands.inbox.post(events.ReconfigurationRequested(connector))

    def still_mine(self, id: ConnectorTaskId) -> bool:
        """Reads the config topic to its end, so that no newer task configs are overlooked (invariants 4 and 6)."""
        config = self._hands.config_store.refresh(_READ_TIMEOUT)
        return self._hands.member.in_session() and self._state.may_run(id, config)

    # ---- requests

    def put_connector_config(
        self,
        name: str,
        config: Mapping[str, str | None],
        *,
        target_state: TargetState | None,
        allow_replace: bool,
    ) -> Future[PutResult]:
        def put(checked: dict[str, str | None]) -> Future[PutResult]:
            written = self._request(lambda number: PutConnector(number, name, checked, target_state, allow_replace))
            return mapped(written, lambda created: PutResult(created, self._queries.described(name, checked)))

        stage = f"validation of the configuration of connector {name}"
        return chained(self._hands.stages.run(stage, lambda: self._validator.check(name, config)), put)

    def validate_connector_config(self, plugin: str, config: Mapping[str, str | None]) -> Future[ConfigInfos]:
        stage = f"validation of a configuration for {plugin}"
        return self._hands.stages.run(stage, lambda: self._validator.validate(plugin, config))

    def connector_plugin_config(self, plugin: str) -> Future[tuple[ConfigKeyInfo, ...]]:
        return self._hands.stages.run(f"config of plugin {plugin}", lambda: self._validator.plugin_config(plugin))

    def delete_connector(self, name: str) -> Future[None]:
        return mapped(self._request(lambda number: RemoveConnector(number, name)), lambda _: None)

    def set_target_state(self, name: str, state: TargetState) -> Future[None]:
        return mapped(self._request(lambda number: PutTargetState(number, name, state)), lambda _: None)

    def connector_offsets(self, name: str) -> Future[tuple[ConnectorOffset, ...]]:
        try:
            config = self._known().connector_info(name).config
        except (NotFoundError, RetriableError) as error:
            return failed_future(error)
        return self._hands.worker.connector_offsets(name, config)

    def _request(self, make: Callable[[int], UserWrite]) -> Future[bool]:
        """Ends when the write is in the topic; True if it made a connector."""
        future: Future[bool] = Future()
        if self._failure is not None:
            future.set_exception(ConnectError(f"The herder has failed: {self._failure}"))
            return future
        self._hands.inbox.post(events.WriteRequested(make(self._requests.add(future))))
        return future

    # ---- queries

    def server_info(self) -> ServerInfo:
        return self._queries.server_info()

    def connectors(self) -> tuple[str, ...]:
        return self._known().connectors()

    def connector_info(self, name: str) -> ConnectorInfo:
        return self._known().connector_info(name)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return self._known().connector_status(name)

    def task_infos(self, name: str) -> tuple[TaskInfo, ...]:
        return self._known().task_infos(name)

    def connector_plugins(self) -> tuple[PluginInfo, ...]:
        return self._queries.connector_plugins()

    def _known(self) -> HerderQueries:
        """Queries about connectors. RetriableError while the config topic was not read: there may be any."""
        if self._state.phase is Phase.STARTING:
            raise RetriableError(f"The worker is starting: {self.stage()}")
        return self._queries
