# SPDX-License-Identifier: Apache-2.0
"""Who waits for a log to be read to its end, and when each may go on (invariant 3)."""

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

_FIRST_PATIENCE = 0.002
_RETRY_AFTER = 0.25
# A request that was made while the brokers were away is not sent when they come back: so each must be short.
_ANSWER_WITHIN = 3.0


class _Waiter:
    """One ``read_to_end``: it learns the end offsets (its targets), then waits for the positions to reach them."""

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
    """Thread-safe. ``add`` is called by anyone, ``advance``, ``reached`` and ``patience`` by the log's thread, and the
    answers of the admin client come in on its thread; whoever sees a waiter's targets reached ends its future."""

    def __init__(
        self,
        topic: str,
        admin: TopicAdmin,
        partitions: Callable[[], tuple[int, ...]],
        identity: TopicIdentity | None = None,
    ) -> None:
        """``identity`` says whether ends that the brokers tell are those of the topic that is read."""
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
            self._end(waiter, self._dead())
        elif ends is None:
            self._ask(waiter)
        else:
            self._end_reached()
        return waiter.future

    def waiting(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def patience(self, idle: float) -> float:
        """How long the log's thread may wait for a record. Nothing wakes it when only transaction markers arrive, so it
        looks often while somebody has just begun to wait, and less and less so."""
        with self._lock:
            since = self._waiting[0].since if self._waiting else None
        return idle if since is None else min(idle, _FIRST_PATIENCE + (time.monotonic() - since) / 10)

    def reached(self, partition: int, offset: int) -> None:
        """The partition was read up to ``offset`` for now; what lies before it was skipped or handed out."""
        with self._lock:
            self._positions[partition] = max(offset, self._positions.get(partition, 0))

    def advance(self, positions: Mapping[int, int]) -> None:
        """All records before ``positions`` have been handed out."""
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
            self._ask(waiter)
        self._end_reached()

    def begin_anew(self) -> None:
        """The topic is another one: where it is read begins at its start, and where it ends is asked again."""
        with self._lock:
            self._positions = {}
            for waiter in self._waiting:
                waiter.targets, waiter.retry_at = None, time.monotonic()

    def fail_all(self, failure: BaseException) -> None:
        """The log is dead: nobody will ever reach anything."""
        with self._lock:
            self.failure = failure
            waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            self._end(waiter, self._dead())

    def describe(self) -> str | None:
        """What the oldest waiter waits for."""
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
            asked = self._admin.list_offsets(self._topic, [partition], committed=True, timeout=_ANSWER_WITHIN)
            stable = int(asked[partition].result(5).offset)
        except Exception:
            return "; the brokers do not answer"
        return f"; an open transaction starts at {stable}: {self._owner(partition)}" if position <= stable < end else ""

    def _owner(self, partition: int) -> str:
        try:
            return str(self._admin.open_transactions(self._topic, partition)[0])
        except Exception:  # older brokers do not tell, nor do others to a principal that may not ask
            return "of an unknown producer"

    def _ask(self, waiter: _Waiter) -> None:
        partitions = self._partitions()
        waiter.left = len(partitions)
        try:
            waiter.asked = self._admin.list_offsets(
                self._topic, partitions, committed=waiter.committed, timeout=_ANSWER_WITHIN
            )
        except ConnectError as e:
            self._not_told(waiter, e)
            return
        for future in list(waiter.asked.values()):
            future.add_done_callback(lambda _: self._told(waiter))

    def _told(self, waiter: _Waiter) -> None:
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
            self._not_told(waiter, connect_error(e, f"listing the end offsets of topic '{self._topic}'"))
            return
        if self._identity is None:
            self._aim(waiter, targets)
        else:
            self._check(waiter, targets, self._identity)

    def _check(self, waiter: _Waiter, targets: Mapping[int, int], identity: TopicIdentity) -> None:
        """Ends of another topic are none: those of a deleted one that was made again lie before what was read, and
        whoever waited would be told what was known when it was deleted. Asked after the ends: ids never come back."""

        def told(answer: Future[Any]) -> None:
            try:
                another = identity.is_another(self._admin.description(self._topic, answer))
            except ConnectError as e:
                self._not_told(waiter, e)
                return
            if another:  # the log's thread looks into it
                self._not_told(waiter, RetriableKafkaError(f"topic '{self._topic}' is not the one that was read"))
            else:
                self._aim(waiter, targets)

        try:
            self._admin.ask_to_describe(self._topic, _ANSWER_WITHIN).add_done_callback(told)
        except ConnectError as e:
            self._not_told(waiter, e)

    def _aim(self, waiter: _Waiter, targets: Mapping[int, int]) -> None:
        with self._lock:
            waiter.targets = targets
        self._end_reached()

    def _not_told(self, waiter: _Waiter, error: ConnectError) -> None:
        """Brokers that are away come back; anything else is the waiter's error."""
        if isinstance(error, RetriableError):
            waiter.error = error
            waiter.retry_at = time.monotonic() + _RETRY_AFTER
            return
        with self._lock:
            self._waiting = [other for other in self._waiting if other is not waiter]
        self._end(waiter, error)

    def _end_reached(self) -> None:
        with self._lock:
            ended = [waiter for waiter in self._waiting if waiter.reached(self._positions)]
            if ended:
                self._waiting = [waiter for waiter in self._waiting if waiter not in ended]
        for waiter in ended:
            self._end(waiter, None)

    def _dead(self) -> BaseException:
        failure = self.failure
        return failure if isinstance(failure, ConnectError) else connect_error(failure or Exception(), self._topic)

    @staticmethod
    def _end(waiter: _Waiter, error: BaseException | None) -> None:
        if waiter.future.done():
            return
        if error is None:
            waiter.future.set_result(None)
        else:
            waiter.future.set_exception(error)
