# SPDX-License-Identifier: Apache-2.0
"""Membership in a group of workers through Kafka's group coordinator, protocol type "connect".

The membership has one IO thread of its own (kafka-python's event loop) for joining, heartbeats and the leader's
assignment. So heartbeats never wait for the rest of the worker, and callbacks must not block. Java:
``WorkerGroupMember``, ``AbstractCoordinator``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, Protocol

from kafka.coordinator.base import BaseCoordinator
from kafka.coordinator.heartbeat import Heartbeat
from kafka.errors import InconsistentGroupProtocolError, KafkaError, UnknownError
from kafka.net.compat import KafkaNetClient
from kafka.net.wakeup_notifier import WakeupNotifier

from headrace.api.errors import ConnectError
from headrace.kafka.errors import KafkaClientError

log = logging.getLogger(__name__)

_RETRY_BACKOFF = 0.1
"""Seconds between attempts to join while the brokers do not answer or refuse."""
_RECONNECT_BACKOFF_MAX_MS = 1000
_RECEIVE_MAX_BYTES = 100_000_000
"""The largest answer that is read; the leader's has the metadata of all members. The client's default is a megabyte."""
_LEAVE_TIMEOUT_MS = 5000
_READY_CHECK_INTERVAL = 0.02
"""Seconds between two questions whether the rest of the worker is ready to join."""
_NOTHING_IN_COMMON = (
    "a member of the group speaks no protocol that this worker does, which is {}; look at connect.protocol and "
    "connect.protocol.minimum of all workers, and whether another application uses the group.id"
)
_BROKER_FAILED = (
    "the group coordinator failed, and its broker's log says why. If that is RecordTooLargeException, the group's work "
    "does not fit into one record: increase max.message.bytes of the topic __consumer_offsets"
)
_MIN_PAUSE = 0.1
"""Seconds between two heartbeats, at least."""
_PAUSE_RATIO = 0.1
"""The pause after a heartbeat, as a part of the time since the last rebalance."""


class GroupListener(Protocol):
    """The callbacks of a membership. Called on the IO thread; none of them may block."""

    def ready_to_join(self) -> bool:
        """Return True if the worker may (re)join now; called repeatedly until then, while heartbeats continue."""

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        """Return protocol names, the preferred first, each with the metadata to join with. Called at every (re)join."""

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Return each member's assignment, by its id, from the members' metadata. Called on the leader only."""

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        """Take the assignment of ``generation``. ConnectError if it cannot be read: ``on_lost`` follows."""

    def on_lost(self, reason: str) -> None:
        """Give up the work: the session has ended, and others may be assigned it from now on (invariant 10).

        The member keeps trying to join; ``on_assigned`` follows when it has joined.
        """


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The group's id and its timeouts, in seconds (session.timeout.ms, heartbeat.interval.ms, rebalance.timeout.ms)."""

    group_id: str
    session_timeout: float
    heartbeat_interval: float
    rebalance_timeout: float


class GroupMember:
    """A worker's membership, from ``start`` to ``leave``. All methods may be called from any thread."""

    def __init__(
        self,
        client_config: Mapping[str, Any],
        settings: GroupSettings,
        listener: GroupListener,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``client_config`` is kafka-python's (``headrace.kafka.clients.client_config.kafka_python_config``)."""
        self._client_config = {
            "reconnect_backoff_max_ms": _RECONNECT_BACKOFF_MAX_MS,
            "receive_message_max_bytes": _RECEIVE_MAX_BYTES,
            **client_config,
        }
        self._settings = settings
        self._listener = listener
        self._clock = clock
        self._client: Any = None
        self._thread: threading.Thread | None = None
        self._coordinator: _Coordinator | None = None
        self._in_session = False
        self._joined_at = 0.0
        self._lost_at: float | None = None
        self._lost_by = ""
        self._leaving = False
        self._trouble: str | None = None
        self._failure: BaseException | None = None

    def start(self) -> None:
        """Begin to join, and return at once. The member waits for brokers that are down."""
        self._client = KafkaNetClient(**self._client_config)
        callbacks = _Callbacks(self._listener, self._on_joined, self._on_session_lost, self._clock)
        self._coordinator = _Coordinator(self._client, self._settings, callbacks)
        self._client._net.start()
        # Only now: a thread that is about to start is not alive, and ``failure`` would take it for dead.
        self._thread = self._client._net._io_thread
        for watch in (self._stay_joined, self._watch_session):
            self._client._net.call_soon_with_future(watch, self._coordinator).add_errback(self._on_thread_died)

    def request_rejoin(self) -> None:
        """Request a rebalance; ``on_assigned`` follows. No effect before ``start``."""
        if self._coordinator is not None:
            self._coordinator.request_rejoin()

    def leave_and_rejoin(self, reason: str, pause: float) -> None:
        """Leave the group, so that no rebalance waits for this member, and rejoin after ``pause`` seconds or later.

        Returns at once. ``on_lost`` is called when it has left, and ``on_assigned`` when it is back.
        """
        if self._client is not None and self._coordinator is not None and not self._leaving:
            log.warning("Leaving group %s for at least %g s: %s", self._settings.group_id, pause, reason)
            self._client._net.call_soon_with_future(self._coordinator.leave_and_rejoin, reason, self._clock() + pause)

    def in_session(self) -> bool:
        """Return True while the work that was last assigned is still this member's."""
        return self._in_session

    def failure(self) -> BaseException | None:
        """Return the error that has ended the IO thread, which watches the session (invariant 10); else None."""
        if self._failure is None and not self._leaving and self._thread is not None and not self._thread.is_alive():
            self._failure = KafkaClientError(f"The thread of the membership in {self._settings.group_id} has died")
        return self._failure

    def _on_thread_died(self, error: BaseException) -> None:
        if not self._leaving:
            log.critical("The membership in group %s has died", self._settings.group_id, exc_info=error)
            self._failure = error

    def trouble(self) -> str | None:
        """Return the reason why it cannot join at present, None if it can."""
        return self._trouble

    def absence(self, least: float = 0.0) -> str | None:
        """Describe the member's absence from its group; None if shorter than ``least`` seconds, or before it joined.

        A session that may still last counts too if its coordinator does not answer. A pending join is silent normally.
        """
        lost_at, coordinator, group = self._lost_at, self._coordinator, self._settings.group_id
        if lost_at is not None:
            away = self._clock() - lost_at
            why = f"{self._lost_by} ({self._trouble})" if self._trouble else self._lost_by
            return f"out of group {group} for {away:.0f} s: {why}" if away >= least else None
        if not self._in_session or coordinator is None or coordinator.rebalance_in_progress():
            return None
        silence = self._silence(coordinator)
        if silence < max(least, 2 * self._settings.heartbeat_interval):
            return None
        return f"without an answer from the coordinator of group {group} for {silence:.0f} s"

    def leave(self, timeout: float) -> None:
        """Leave the group, so that others need not wait for the session to expire; at most ``timeout`` seconds."""
        client, coordinator = self._client, self._coordinator
        if client is None or coordinator is None or self._leaving:
            return
        self._leaving = True
        self._in_session = False
        coordinator._close_heartbeat()
        left: Future[None] = Future()
        leaving = client._net.call_soon_with_future(
            coordinator.maybe_leave_group_async, "the worker stops", int(timeout * 1000)
        )
        leaving.add_both(lambda _: left.set_result(None))
        try:
            left.result(timeout)
        except FutureTimeoutError:
            log.warning("Could not leave group %s within %g s", self._settings.group_id, timeout)
        coordinator.wakeup.notify()
        client._net.stop(timeout_ms=1000)
        client.close()

    async def _stay_joined(self, coordinator: _Coordinator) -> None:
        while not self._leaving:
            try:
                await self._client._manager.bootstrap_async(refresh=False)
                if not await coordinator.ensure_active_group_async(int(self._settings.session_timeout * 1000)):
                    # A pending JoinGroup is awaited further: others may need the rebalance timeout for their part.
                    coordinator.look_up_anew()
                    continue
                coordinator.poll_heartbeat()
                self._trouble = None
            except Exception as error:
                self._report_trouble(error)
                await coordinator.wakeup(_RETRY_BACKOFF)
                continue
            if not coordinator.need_rejoin():
                await coordinator.wakeup(self._settings.session_timeout / 3)

    async def _watch_session(self, coordinator: _Coordinator) -> None:
        """End the session here when the broker must have ended it there, reachable or not (invariant 10)."""
        while not self._leaving:
            if self._in_session:
                silence = self._silence(coordinator)
                if silence > self._allowed_silence(coordinator):
                    self._on_session_lost(f"no answer from the group coordinator for {silence:.1f} s", silence)
                    coordinator.request_rejoin()
            await coordinator._net.sleep(min(1.0, self._settings.session_timeout / 10))

    def _silence(self, coordinator: _Coordinator) -> float:
        return float(self._clock() - max(self._joined_at, coordinator.heartbeat.last_receive))

    def _allowed_silence(self, coordinator: _Coordinator) -> float:
        """Return the silence after which the session is over; longer in a join, when no heartbeats are sent."""
        if coordinator.rebalance_in_progress():
            return max(self._settings.session_timeout, self._settings.rebalance_timeout)
        return self._settings.session_timeout

    def _on_joined(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        if self._leaving:
            return
        self._joined_at = self._clock()
        self._lost_at = None
        self._in_session = True
        try:
            self._listener.on_assigned(generation, member_id, protocol, assignment)
        except ConnectError as error:
            # What the group has decided about this member's work is unknown (invariant 10).
            self._on_session_lost(f"the leader's assignment of generation {generation} cannot be used: {error}")
            assert self._coordinator is not None
            self._coordinator.request_rejoin()
            raise

    def _on_session_lost(self, reason: str, silence: float = 0.0) -> None:
        """End the session; ``silence`` is the time since the coordinator's last answer, in seconds."""
        if self._leaving or not self._in_session:
            return
        self._in_session = False
        self._lost_at, self._lost_by = self._clock() - silence, reason
        log.warning("Lost the session in group %s: %s", self._settings.group_id, reason)
        self._listener.on_lost(reason)

    def _report_trouble(self, error: Exception) -> None:
        trouble = f"{type(error).__name__}: {error}"
        if isinstance(error, InconsistentGroupProtocolError):
            trouble = _NOTHING_IN_COMMON.format(", ".join(name for name, _ in self._listener.offered_protocols()))
        elif isinstance(error, UnknownError):
            trouble = f"{trouble}: {_BROKER_FAILED}"
        if self._leaving or trouble == self._trouble:
            return
        self._trouble = trouble
        log.warning(
            "Cannot join group %s, will try again: %s",
            self._settings.group_id,
            trouble,
            exc_info=None if isinstance(error, KafkaError | ConnectError) else error,
        )


class EagerHeartbeat(Heartbeat):  # type: ignore[misc]
    """A heartbeat that is frequent right after a rebalance, then ever slower, down to the configured interval.

    One rebalance is often followed by another: work revoked from one member is assigned to another in the next, and
    members learn of that only by the answer to a heartbeat. On the membership's thread, as its base class.
    """

    def time_to_next_heartbeat(self) -> float:
        configured = float(super().time_to_next_heartbeat())
        if self.heartbeat_failed:
            return configured
        began, last = float(self.last_reset), max(float(self.last_send), float(self.last_reset))
        pause = max(_MIN_PAUSE, _PAUSE_RATIO * (last - began))
        return min(configured, max(0.0, last + pause - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Callbacks:
    """The callbacks of ``_Coordinator``."""

    listener: GroupListener
    joined: Callable[[int, str, str, bytes], None]
    lost: Callable[[str], None]
    clock: Callable[[], float]


class _Coordinator(BaseCoordinator):  # type: ignore[misc]
    """kafka-python's side of the group protocol, which rejoins at once on request instead of at the next poll."""

    def __init__(self, client: Any, settings: GroupSettings, callbacks: _Callbacks) -> None:
        self.wakeup = WakeupNotifier(client._net)
        self._callbacks = callbacks
        self._away_until = 0.0
        super().__init__(
            client,
            group_id=settings.group_id,
            session_timeout_ms=int(settings.session_timeout * 1000),
            heartbeat_interval_ms=int(settings.heartbeat_interval * 1000),
            max_poll_interval_ms=int(settings.rebalance_timeout * 1000),
            api_version=(3, 0),
        )
        self.heartbeat = EagerHeartbeat(**self.config)

    def protocol_type(self) -> str:
        return "connect"

    def group_protocols(self) -> list[tuple[str, bytes]]:
        return list(self._callbacks.listener.offered_protocols())

    async def _on_join_prepare_async(self, generation: int, member_id: str, timeout_ms: float | None = None) -> None:
        while self._callbacks.clock() < self._away_until or not self._callbacks.listener.ready_to_join():
            await self._net.sleep(_READY_CHECK_INTERVAL)

    def _perform_assignment(self, leader_id: str, protocol: str, members: Sequence[Any]) -> dict[str, bytes]:
        metadata = {member.member_id: bytes(member.metadata) for member in members}
        return dict(self._callbacks.listener.assign(leader_id, protocol, metadata))

    async def _on_join_complete_async(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self._callbacks.joined(generation, member_id, protocol, bytes(assignment))

    def look_up_anew(self) -> None:
        """End a look-up of the coordinator that has no answer, and its connections. Raise KafkaClientError if so.

        kafka-python itself waits for it without an end and without a word.
        """
        if not self.coordinator_unknown():
            return
        self._find_coordinator_future = None
        for node in list(self._manager._conns):
            self._manager.close(node)
        raise KafkaClientError("the brokers name no coordinator of the group that can be reached")

    async def leave_and_rejoin(self, reason: str, until: float) -> None:
        self._away_until = until
        await self.maybe_leave_group_async(reason, _LEAVE_TIMEOUT_MS)
        # A join that was under way has ended by leaving, and must not continue before ``until``.
        self.rejoining = False

    def request_rejoin(self) -> None:
        super().request_rejoin()
        self.wakeup.notify()

    def reset_generation(self, *args: Any, **kwargs: Any) -> None:
        """End the session, as the broker has removed this member; a first join comes by here too, without a session."""
        super().reset_generation(*args, **kwargs)
        self._callbacks.lost("the group coordinator has removed this member")
        self.wakeup.notify()
