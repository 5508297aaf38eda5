# SPDX-License-Identifier: Apache-2.0
"""Futures that end when a log has been read to its end (invariant 3)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from headrace.api.errors import ConnectError, RetriableError
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.kafka.errors import RetriableKafkaError, connect_error, kafka_error
from headrace.kafka.log.topic_identity import TopicIdentity

_FIRST_POLL_TIMEOUT = 0.002
_RETRY_AFTER = 0.25
# A request that was made while the brokers were away is not sent when they come back: so each must be short.
_REQUEST_TIMEOUT = 3.0


class _Waiter:
    """One ``read_to_end``: it requests the end offsets (its targets), then waits for the positions to reach them."""

    __slots__ = ("asked", "committed", "error", "future", "left", "retry_at", "since", "stale", "targets")

    def __init__(self, committed: bool) -> None:
        self.committed = committed
        self.future: Future[None] = Future()
        self.future.set_running_or_notify_cancel()  # from here on it cannot be cancelled
        self.since = time.monotonic()
        self.targets: Mapping[int, int] | None = None
        self.retry_at: float | None = None
        self.error: RetriableError | None = None
        self.stale = False
        self.asked: dict[int, Future[Any]] = {}
        self.left = 0

    def reached(self, positions: Mapping[int, int]) -> bool:
        return self.targets is not None and all(positions.get(p, 0) >= end for p, end in self.targets.items())


class EndWaiters:
    """The waiters of one log. Thread-safe.

    Any thread calls ``add``; the log's thread calls ``advance``, ``reached`` and ``poll_timeout``; the admin client's
    answers arrive on its own thread. The thread that sees a waiter's targets reached ends its future.
    """

    def __init__(
        self,
        topic: str,
        admin: TopicAdmin,
        partitions: Callable[[], tuple[int, ...]],
        identity: TopicIdentity | None = None,
    ) -> None:
        """``identity`` checks that the brokers' end offsets are those of the topic that is read."""
        self.failure: BaseException | None = None
        self._identity = identity
        self._topic = topic
        self._admin = admin
        self._partitions = partitions
        self._lock = threading.Lock()
        self._positions: dict[int, int] = {}
        self._waiting: list[_Waiter] = []

    def add(self, ends: Mapping[int, int] | None = None, *, committed: bool = False) -> Future[None]:
        """A future that ends when everything that is in the topic now has been handed out.

        With ``ends``, offsets by partition, that is known already: everything that lies before them. ``committed``: up
        to the first open transaction only.
        """
        waiter = _Waiter(committed)
        waiter.targets = ends
        with self._lock:
            if self.failure is None:
                self._waiting.append(waiter)
        if self.failure is not None:
            self._finish(waiter, self._failure_of_log())
        elif ends is None:
            self._request_end_offsets(waiter)
        else:
            self._end_reached()
        return waiter.future

    def waiting(self) -> bool:
        """Return True if there is a waiter."""
        return bool(self._waiting)

    def poll_timeout(self, idle: float) -> float:
        """Return the seconds for which the log's thread may wait for a record.

        Nothing wakes it when only transaction markers arrive: so it polls often for a new waiter, then less and less.
        """
        with self._lock:
            since = self._waiting[0].since if self._waiting else None
        return idle if since is None else min(idle, _FIRST_POLL_TIMEOUT + (time.monotonic() - since) / 10)

    def reached(self, partition: int, offset: int) -> None:
        """Note that the partition was read up to its end ``offset``; all before it was skipped or handed out."""
        with self._lock:
            self._positions[partition] = max(offset, self._positions.get(partition, 0))

    def advance(self, positions: Mapping[int, int]) -> None:
        """Note that all records before ``positions`` have been handed out."""
        with self._lock:
            self._positions.update(positions)
            if not self._waiting:
                return
            now = time.monotonic()
            due = [w for w in self._waiting if w.retry_at is not None and w.retry_at <= now]
        if any(waiter.stale for waiter in due):
            self._admin.renew()
        for waiter in due:
            waiter.retry_at, waiter.stale = None, False
            self._request_end_offsets(waiter)
        self._end_reached()

    def start_again(self) -> None:
        """Start again with another topic of the name: positions are at its start, end offsets requested again."""
        with self._lock:
            self._positions = {}
            for waiter in self._waiting:
                waiter.targets, waiter.retry_at = None, time.monotonic()

    def fail_all(self, failure: BaseException) -> None:
        """Fail all waiters, present and future: the log's thread has ended."""
        with self._lock:
            self.failure = failure
            waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            self._finish(waiter, self._failure_of_log())

    def describe(self) -> str | None:
        """Describe what the oldest waiter waits for; None if there is no waiter."""
        with self._lock:
            if not self._waiting:
                return None
            waiter, positions = self._waiting[0], dict(self._positions)
        seconds = time.monotonic() - waiter.since
        if waiter.targets is None:
            why = f" ({waiter.error})" if waiter.error else ""
            return f"the end offsets of topic '{self._topic}' since {seconds:.0f} s{why}"
        behind = {p: (positions.get(p, 0), end) for p, end in waiter.targets.items() if positions.get(p, 0) < end}
        if not behind:
            return None
        partition, (position, end) = min(behind.items())
        text = f"topic '{self._topic}' partition {partition}, read up to {position} of {end}, since {seconds:.0f} s"
        return text + self._transaction_hint(partition, position, end)

    def _transaction_hint(self, partition: int, position: int, end: int) -> str:
        try:
            asked = self._admin.list_offsets(self._topic, [partition], committed=True, timeout=_REQUEST_TIMEOUT)
            stable = int(asked[partition].result(5).offset)
        except Exception:
            return "; the brokers do not answer"
        return f"; an open transaction starts at {stable}: {self._owner(partition)}" if position <= stable < end else ""

    def _owner(self, partition: int) -> str:
        try:
            return str(self._admin.open_transactions(self._topic, partition)[0])
        except Exception:  # older brokers cannot describe them, others may deny it to the principal
            return "of an unknown producer"

    def _request_end_offsets(self, waiter: _Waiter) -> None:
        partitions = self._partitions()
        waiter.left = len(partitions)
        try:
            waiter.asked = self._admin.list_offsets(
                self._topic, partitions, committed=waiter.committed, timeout=_REQUEST_TIMEOUT
            )
        except ConnectError as e:
            self._on_request_failed(waiter, e)
            return
        for future in list(waiter.asked.values()):
            future.add_done_callback(lambda _: self._on_end_offset(waiter))

    def _on_end_offset(self, waiter: _Waiter) -> None:
        with self._lock:
            waiter.left -= 1
            if waiter.left:
                return
        try:
            targets = {partition: int(future.result().offset) for partition, future in waiter.asked.items()}
        except Exception as e:
            if self._identity is not None:
                self._identity.doubt()
            answered = kafka_error(e)
            waiter.stale = answered is not None and answered.code() > 0
            doing = f"listing the end offsets of topic '{self._topic}'"
            # A log is started after its client has described the topic.
            self._on_request_failed(waiter, connect_error(e, doing, logged_in=True))
            return
        if self._identity is None:
            self._set_targets(waiter, targets)
        else:
            self._check_identity(waiter, targets, self._identity)

    def _check_identity(self, waiter: _Waiter, targets: Mapping[int, int], identity: TopicIdentity) -> None:
        """Use end offsets as targets only if they are of the topic that is read.

        Those of a topic that was created again lie before what was read, and its waiters would continue with what was
        known when it was deleted. The id is requested after the end offsets: ids never come back.
        """

        def on_description(answer: Future[Any]) -> None:
            try:
                another = identity.is_another(self._admin.description(self._topic, answer))
            except ConnectError as e:
                self._on_request_failed(waiter, e)
                return
            if another:  # the log's thread handles it
                self._on_request_failed(
                    waiter, RetriableKafkaError(f"topic '{self._topic}' is not the one that was read")
                )
            else:
                self._set_targets(waiter, targets)

        try:
            self._admin.ask_to_describe(self._topic, _REQUEST_TIMEOUT).add_done_callback(on_description)
        except ConnectError as e:
            self._on_request_failed(waiter, e)

    def _set_targets(self, waiter: _Waiter, targets: Mapping[int, int]) -> None:
        with self._lock:
            waiter.targets = targets
        self._end_reached()

    def _on_request_failed(self, waiter: _Waiter, error: ConnectError) -> None:
        """Schedule a retry if brokers are not available; any other error is the waiter's."""
        if isinstance(error, RetriableError):
            waiter.error = error
            waiter.retry_at = time.monotonic() + _RETRY_AFTER
            return
        with self._lock:
            self._waiting = [other for other in self._waiting if other is not waiter]
        self._finish(waiter, error)

    def _end_reached(self) -> None:
        with self._lock:
            ended = [waiter for waiter in self._waiting if waiter.reached(self._positions)]
            if ended:
                self._waiting = [waiter for waiter in self._waiting if waiter not in ended]
        for waiter in ended:
            self._finish(waiter, None)

    def _failure_of_log(self) -> BaseException:
        failure = self.failure
        return failure if isinstance(failure, ConnectError) else connect_error(failure or Exception(), self._topic)

    @staticmethod
    def _finish(waiter: _Waiter, error: BaseException | None) -> None:
        if waiter.future.done():
            return
        if error is None:
            waiter.future.set_result(None)
        else:
            waiter.future.set_exception(error)
