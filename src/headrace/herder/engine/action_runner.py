# SPDX-License-Identifier: Apache-2.0
"""Performs the actions of the herder's core, on the herder's thread; calls that may block go to another thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import singledispatchmethod
from typing import Any

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError, RetriableError
from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.herder_actions import HerderAction
from headrace.herder.core.herder_events import HerderEvent
from headrace.herder.engine.audited_actions import LeaderAudit
from headrace.herder.engine.automatic_restarts import AutomaticRestarts
from headrace.herder.engine.config_topic_writes import config_write, describe_request, now_ms
from headrace.herder.engine.herder_services import HerderServices, LeaderRequests
from headrace.herder.engine.statuses import sweep_statuses
from headrace.model.cluster_config_state import Config
from headrace.model.deadline import Clock
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import OffsetsChange
from headrace.storage import config_writes as writes
from headrace.storage.config_backing_store import FencedLeaderError
from headrace.worker.callbacks import HerderCallbacks
from headrace.worker.stages import SerialExecutor, trace_of

log = logging.getLogger(__name__)

_READ_TIMEOUT = 60.0
"""Seconds that a read of the config topic to its end may take before it counts as failed."""
_RETRY = 1.0
"""Seconds until a failed read is tried again."""


class ActionRunner:
    """One method per kind of action. Results come back as events, so no method waits."""

    def __init__(
        self, services: HerderServices, callbacks: HerderCallbacks, restarts: AutomaticRestarts, clock: Clock
    ) -> None:
        self._services = services
        self._callbacks = callbacks
        self._restarts = restarts
        self._clock = clock
        # One request after the other, lest older task configs of a connector overtake newer ones.
        self._to_leader = SerialExecutor("requests to the leader", services.stages)
        self._audit = LeaderAudit(services.statuses.worker_id)

    def close(self) -> None:
        """End its own threads. Returns at once."""
        self._to_leader.close()

    @singledispatchmethod
    def perform(self, action: HerderAction) -> None:
        """Begin ``action``. The herder itself performs those that end a request or the herder."""
        raise AssertionError(f"no rule for {action}")

    # ---- membership and config topic

    @perform.register
    def _(self, action: actions.Join) -> None:
        self._services.member.start()

    @perform.register
    def _(self, action: actions.Rejoin) -> None:
        self._services.member.request_rejoin()

    @perform.register
    def _(self, action: actions.StepOut) -> None:
        self._services.member.leave_and_rejoin("it lags behind the config topic", action.pause)

    @perform.register
    def _(self, action: actions.CatchUp) -> None:
        def ended(future: Future[Any]) -> None:
            if future.exception() is None:
                self._post(events.ConfigUpdated(self._services.config_store.snapshot()))
                self._post(events.CaughtUp(action.rejoin))
            else:
                log.warning("Cannot read the config topic to its end, will try again: %s", future.exception())
                self._services.inbox.post_later(_RETRY, events.CaughtUp(action.rejoin))

        read = self._services.stages.run_in_background(
            "read of the config topic to its end", lambda: self._services.config_store.refresh(_READ_TIMEOUT)
        )
        read.add_done_callback(ended)

    @perform.register
    def _(self, action: actions.ClaimWrites) -> None:
        def claim() -> None:
            self._services.config_store.claim_write_privileges()
            self._services.config_store.refresh(_READ_TIMEOUT)
            topic = self._services.offsets_topic()
            if topic is not None:
                self._services.config_store.write(writes.OffsetsTopicWrite(topic))

        self._run_in_background(
            "claim of the config topic for this leader",
            claim,
            lambda _: events.WritesClaimed(),
            events.ClaimFailed,
        )

    @perform.register
    def _(self, action: actions.ReleaseWrites) -> None:
        self._services.stages.run_in_background(
            "release of the config topic", self._services.config_store.release_write_privileges
        )

    @perform.register
    def _(self, action: actions.Write) -> None:
        before = self._services.config_store.snapshot()

        def done(_: None) -> HerderEvent:
            self._audit.wrote(action.write, before)
            # Not every record makes the store call back, but the next write is checked against a state with this one.
            self._post(events.ConfigUpdated(self._services.config_store.snapshot()))
            return events.WriteDone(action.write)

        def failed(error: Exception) -> HerderEvent:
            self._audit.wrote(action.write, before, error)
            return events.WriteFailed(action.write, error, fenced=isinstance(error, FencedLeaderError))

        self._run_in_background(
            f"{describe_request(action.write)} in the config topic",
            lambda: self._services.config_store.write(config_write(action.write)),
            done,
            failed,
        )

    @perform.register
    def _(self, action: actions.Fence) -> None:
        def fence() -> None:
            # Zombies of newer task configs than we know of must not be overlooked: KIP-618 reads to the end first.
            state = self._services.config_store.refresh(_READ_TIMEOUT)
            if state.generation(action.connector) == action.generation:
                self._fence_zombies(action.connector, action.config, action.producers)

        self._run_in_background(
            f"round of zombie fencing of connector {action.connector}",
            fence,
            lambda _: events.FencingDone(action.connector, action.generation),
            lambda error: events.FencingFailed(action.connector, action.generation, error, trace_of(error)),
        )

    def _fence_zombies(self, connector: str, config: Config, producers: int) -> None:
        """Fence the producers of a connector's former tasks. Blocks."""
        with self._audit.fencing(connector, producers):
            self._services.worker.fence_zombies(config, producers).result()

    @perform.register
    def _(self, action: actions.AskForFencing) -> None:
        name, generation, leader = action.connector, action.generation, self._leader
        log.info(
            "Tasks of connector %s wait for a round of zombie fencing, for no task count record follows their task "
            "configs at offset %d of the config topic; asking the leader at %s",
            name,
            generation,
            action.leader_url,
        )

        def ask() -> None:
            key = self._services.config_store.snapshot().session_key
            leader.fence_zombies(action.leader_url, name, key)
            self._services.config_store.refresh(_READ_TIMEOUT)
            self._post(events.ConfigUpdated(self._services.config_store.snapshot()))

        self._run_in_background(
            f"round of zombie fencing of connector {name} by the leader at {action.leader_url}",
            ask,
            lambda _: events.FencingAnswered(name, generation),
            lambda error: events.FencingAnswered(name, generation, error, error_text(error)),
        )

    @property
    def _leader(self) -> LeaderRequests:
        leader = self._services.leader
        assert leader is not None  # a worker that is alone is its own leader
        return leader

    # ---- offsets

    @perform.register
    def _(self, action: actions.ChangeOffsets) -> None:
        wanted = action.wanted
        self._post_outcome(
            self._services.worker.change_offsets(wanted.name, action.config, wanted.change),
            lambda result: events.OffsetsEnded(wanted, result),
            lambda error: events.OffsetsEnded(wanted, error=error),
        )

    @perform.register
    def _(self, action: actions.DeleteRemovedOffsets) -> None:
        def delete() -> None:
            if action.producers:
                self._fence_zombies(action.name, action.config, action.producers)
            self._services.worker.change_offsets(action.name, action.config, OffsetsChange(None, removal=True)).result()

        def failed(error: Exception) -> HerderEvent:
            if isinstance(error, RetriableError):
                return events.RemovedOffsetsStay(action.name, error)
            log.error("The offsets of the removed connector %s stay: they cannot be deleted", action.name)
            return events.RemovedOffsetsGone(action.name, error)

        stage = f"deletion of the offsets of the removed connector {action.name}"
        self._run_in_background(stage, delete, lambda _: events.RemovedOffsetsGone(action.name), failed)

    # ---- connectors and tasks

    @perform.register
    def _(self, action: actions.PlanRestart) -> None:
        plan = self._services.statuses.restart_plan(
            action.name, only_failed=action.only_failed, include_tasks=action.include_tasks
        )
        tasks = tuple(ConnectorTaskId(action.name, task) for task in plan.tasks)
        self._post(events.RestartPlanned((action.name,) if plan.connector else (), tasks))

    @perform.register
    def _(self, action: actions.ReadFailures) -> None:
        self._post(self._restarts.read())

    @perform.register
    def _(self, action: actions.RestartFailed) -> None:
        planned = self._restarts.plan(action.id, action.count)
        if planned is not None:
            self._post(planned)

    @perform.register
    def _(self, action: actions.ReportGivenUp) -> None:
        kind = "Task" if isinstance(action.id, ConnectorTaskId) else "Connector"
        log.error("%s %s is FAILED and is not restarted automatically: %s", kind, action.id, action.reason)

    @perform.register
    def _(self, action: actions.ReportRestart) -> None:
        self._services.statuses.on_restart(action.id, None)

    @perform.register
    def _(self, action: actions.FindType) -> None:
        name = action.connector_class
        self._run_in_background(
            f"import of connector class {name}",
            lambda: self._services.worker.connector_type({CONNECTOR_CLASS: name}),
            lambda type: events.TypeFound(name, type),
            lambda error: events.TypeFound(name, "unknown"),
        )

    @perform.register
    def _(self, action: actions.StartConnector) -> None:
        def failed(error: Exception) -> HerderEvent:
            log.error("%s", error)
            return events.ConnectorFailed(action.name, error)

        self._services.statuses.hold(action.name)
        started = self._services.worker.start_connector(action.name, action.config, action.target, self._callbacks)
        self._post_outcome(started, lambda _: events.ConnectorStarted(action.name), failed)

    @perform.register
    def _(self, action: actions.StopConnector) -> None:
        stopped = events.ConnectorStopped(action.name)
        self._post_outcome(self._services.worker.stop_connector(action.name), lambda _: stopped, lambda error: stopped)

    @perform.register
    def _(self, action: actions.SetConnectorTarget) -> None:
        changed = self._services.worker.set_connector_target_state(action.name, action.target)
        self._post_outcome(
            changed,
            lambda _: events.ConnectorStarted(action.name),
            lambda error: events.ConnectorFailed(action.name, error),
        )

    @perform.register
    def _(self, action: actions.ComputeTaskConfigs) -> None:
        def failed(error: Exception) -> HerderEvent:
            log.error("No task configs of connector %s: %s", action.name, error)
            if isinstance(error, RetriableError):
                return events.TaskConfigsFailed(action.name, error, self._clock())
            return events.ConnectorFailed(action.name, error)

        computed = self._services.worker.connector_task_configs(action.name)
        self._post_outcome(computed, lambda configs: events.TaskConfigsComputed(action.name, configs), failed)

    @perform.register
    def _(self, action: actions.PublishTaskConfigs) -> None:
        leader = self._leader

        def publish() -> None:
            key = self._services.config_store.snapshot().session_key
            leader.put_task_configs(action.leader_url, action.name, action.configs, key)

        stage = f"publication of the task configs of connector {action.name} by the leader at {action.leader_url}"
        self._post_logged_outcome(
            stage,
            self._to_leader.submit(stage, publish),
            lambda _: events.TaskConfigsPublished(action.name),
            lambda error: events.PublicationFailed(action.name, error, self._clock()),
        )

    @perform.register
    def _(self, action: actions.StartTask) -> None:
        self._services.statuses.hold(action.id)
        try:
            self._services.worker.start_task(
                action.id, action.connector_config, action.task_config, action.target, self._callbacks
            )
        except ConnectError as error:
            self._services.statuses.on_failure(action.id, error_text(error))

    @perform.register
    def _(self, action: actions.FailTask) -> None:
        self._services.statuses.on_failure(action.id, action.trace)

    @perform.register
    def _(self, action: actions.StopTasks) -> None:
        stopped = events.TasksStopped(action.ids)
        self._post_outcome(self._services.worker.stop_tasks(action.ids), lambda _: stopped, lambda error: stopped)

    @perform.register
    def _(self, action: actions.SetTaskTarget) -> None:
        self._services.worker.set_task_target_state(action.id, action.target)

    # ---- the rest

    @perform.register
    def _(self, action: actions.WatchSessionKey) -> None:
        left = action.rules.time_left(action.key, now_ms())
        if left is not None:
            self._services.inbox.post_later(left, events.SessionKeyExpired(action.key))

    @perform.register
    def _(self, action: actions.Later) -> None:
        self._services.inbox.post_later(action.delay, action.event)

    @perform.register
    def _(self, action: actions.SweepStatuses) -> None:
        self._run_in_background(
            "removal of statuses of what does not exist",
            lambda: sweep_statuses(self._services.status_store, self._services.config_store.refresh),
            lambda _: events.SweepEnded(),
            lambda error: events.SweepEnded(failed=True),
        )

    def _run_in_background(
        self,
        stage: str,
        work: Callable[[], Any],
        done: Callable[[Any], HerderEvent],
        failed: Callable[[Exception], HerderEvent],
    ) -> None:
        self._post_logged_outcome(stage, self._services.stages.run_in_background(stage, work), done, failed)

    def _post_logged_outcome(
        self,
        stage: str,
        future: Future[Any],
        done: Callable[[Any], HerderEvent],
        failed: Callable[[Exception], HerderEvent],
    ) -> None:
        def log_failure(error: Exception) -> HerderEvent:
            log.warning("The %s failed: %s", stage, error_text(error))
            return failed(error)

        self._post_outcome(future, done, log_failure)

    def _post_outcome(
        self,
        future: Future[Any],
        done: Callable[[Any], HerderEvent | None],
        failed: Callable[[Exception], HerderEvent | None],
    ) -> None:
        def ended(future: Future[Any]) -> None:
            error = future.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            event = done(future.result()) if error is None else failed(error)
            if event is not None:
                self._post(event)

        future.add_done_callback(ended)

    def _post(self, event: HerderEvent) -> None:
        self._services.inbox.post(event)
