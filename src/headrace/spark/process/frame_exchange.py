# SPDX-License-Identifier: Apache-2.0
"""The server in a task's process from which executors fetch frame jobs' input, and to which they deliver results."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from multiprocessing import AuthenticationError
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.api.errors import DataError, RetriableError
from headrace.spark.channel.endpoint import ChannelListener, Endpoint, Interface, Link
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import FrameJobEnded
from headrace.spark.process.frame_ends import END_OF_DATA, Pull, Push, from_bytes, to_bytes

if TYPE_CHECKING:
    import socket

    import pyarrow as pa

log = logging.getLogger(__name__)
_MAX_WAITING_BATCHES: Final = 2
"""Batches of a streamed partition that may wait to be taken."""
_STALL_TIMEOUT_S: Final = 60
"""Seconds without a delivery of the next partition, while others wait for it, after which the job has failed."""
_ACKNOWLEDGED: Final = b"heard"


class JobAbandonedError(Exception):
    """The job, or this part of it, is not needed any more."""


class FrameResult:
    """The result of one job. The task's thread waits for it; each connection has a thread that delivers a part of it.

    Spark may run the same partition twice: for a retry, for speculation, for a lost executor. For each partition the
    delivery of the attempt that Spark itself counts is used, and all others are dropped, so none counts twice and none
    in part (invariant 8). It has to be Spark's choice: attempts may differ, after a shuffle of rows that come in
    another order each time, and only those that Spark counts together belong together.
    """

    def __init__(self, table: pa.Table | None, *, streamed: bool, limit: ResultLimit | None = None) -> None:
        """``table`` is the input.

        A ``streamed`` result is taken in order, while it is delivered: for each partition the first delivery. Another
        result is kept until it is complete, so it has a ``limit``.
        """
        self.table = table
        self.streamed = streamed
        self._limit = limit or ResultLimit()
        self._sizes: dict[int, tuple[int, int]] = {}
        self._excess: str | None = None
        self._changed = threading.Condition()
        self._ended: FrameJobEnded | None = None
        self._abandoned = False
        self._complete: dict[int, list[pa.RecordBatch]] = {}
        self._turn = 0
        self._delivering: int | None = None
        self._waiting: deque[pa.RecordBatch] = deque()
        self._broken: str | None = None
        self._deliveries = 0

    # ---- for the task's thread

    @property
    def has_ended(self) -> bool:
        return self._ended is not None

    def await_end(self) -> FrameJobEnded:
        """Wait until the worker has reported the job's end. DataError as soon as there is more than the limit."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended is not None or self._excess is not None)
            if self._excess is not None:
                raise DataError(self._excess)
            assert self._ended is not None
            return self._ended

    def delivered(self, attempts: Sequence[int]) -> list[pa.RecordBatch]:
        """Return the batches of these attempts, of a job that succeeded. RetriableError if some did not arrive."""
        with self._changed:
            missing = [number for number, attempt in enumerate(attempts) if attempt not in self._complete]
            if missing:
                raise RetriableError(f"partitions {missing} of a frame job's result did not arrive")
            return [batch for attempt in attempts for batch in self._complete[attempt]]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Each batch as it comes, partition after partition, until the job has ended. RetriableError as ``Frames``."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._broken or self._ended)
                if self._waiting:
                    batch = self._waiting.popleft()
                    self._changed.notify_all()
                elif self._broken is not None:
                    raise RetriableError(self._broken)
                else:
                    return
            yield batch

    def abandon(self) -> None:
        """Refuse all further deliveries: the result is not needed any more."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    # ---- for the listener's and the connections' threads

    def on_job_ended(self, ended: FrameJobEnded) -> None:
        """Take the job's end from the worker; every delivery that Spark knows of was received before."""
        with self._changed:
            self._ended = ended
            self._changed.notify_all()

    def note_size(self, partition: int, size: int, rows: int) -> None:
        """Note the bytes and rows of the partition received so far. JobAbandonedError if that is over the limit."""
        with self._changed:
            # In the end one of a partition's attempts counts.
            before = self._sizes.get(partition, (0, 0))
            self._sizes[partition] = max(before[0], size), max(before[1], rows)
            self._excess = self._excess or self._limit.excess(*map(sum, zip(*self._sizes.values(), strict=True)))
            if self._excess is not None:
                self._complete.clear()
                self._changed.notify_all()
            if self._excess is not None or self._abandoned:
                raise JobAbandonedError

    def add_delivery(self, attempt: int, batches: list[pa.RecordBatch]) -> None:
        """Keep a complete delivery."""
        with self._changed:
            if not self._abandoned and self._excess is None:
                self._complete[attempt] = batches

    def begin_delivery(self, partition: int) -> int | None:
        """Wait for this partition's turn, and return the delivery's number; None if it was delivered before."""
        with self._changed:
            while not self._may_go_on(partition):
                notified = self._changed.wait(_STALL_TIMEOUT_S)
                # The turn may have come at the very moment of the timeout.
                if not notified and self._delivering is None and not self._may_go_on(partition):
                    # Those that wait may have all the cores, and a partition before them was lost.
                    self._broken = (
                        f"no core was free for partition {self._turn} of a frame job's result for {_STALL_TIMEOUT_S} s"
                    )
                    self._changed.notify_all()
            if self._abandoned:
                raise JobAbandonedError
            if self._turn > partition:
                return None
            self._deliveries += 1
            self._delivering = self._deliveries
            return self._deliveries

    def _may_go_on(self, partition: int) -> bool:
        return self._abandoned or self._turn > partition or (self._turn == partition and self._delivering is None)

    def add_batch(self, delivery: int, batch: pa.RecordBatch) -> None:
        """Add a batch of a streamed delivery; blocks while enough others wait to be taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._abandoned or len(self._waiting) < _MAX_WAITING_BATCHES)
            if self._abandoned or self._delivering != delivery:
                raise JobAbandonedError
            self._waiting.append(batch)
            self._changed.notify_all()

    def end_delivery(self, delivery: int) -> None:
        with self._changed:
            if self._delivering == delivery:
                self._turn, self._delivering = self._turn + 1, None
                self._changed.notify_all()

    def fail_delivery(self, delivery: int, begun: bool) -> None:
        """Note that a delivery ended early. If it had ``begun``, no other can replace it: the order may differ."""
        with self._changed:
            if self._delivering == delivery and not self._abandoned:
                self._delivering = None
                if begun:
                    self._broken = "an executor was lost while it brought the rows of a frame job"
                self._changed.notify_all()


class FrameExchange:
    """A listener for executors, as long as the process lives, with the results of the jobs that run, by number."""

    def __init__(self, place: Path | Interface) -> None:
        """``place`` is as for ``ChannelListener``."""
        self._listener = ChannelListener(place)
        self._results: dict[int, FrameResult] = {}
        threading.Thread(target=self._accept, name="frame-exchange", daemon=True).start()

    @property
    def endpoint(self) -> Endpoint:
        return self._listener.endpoint

    def open(self, number: int, result: FrameResult) -> None:
        self._results[number] = result

    def close(self, number: int) -> None:
        result = self._results.pop(number, None)
        if result is not None:
            result.abandon()

    def on_job_ended(self, ended: FrameJobEnded) -> None:
        """Pass the job's end on to its result. Any thread."""
        result = self._results.get(ended.number)
        if result is not None:
            result.on_job_ended(ended)

    def shut(self) -> None:
        self._listener.close()
        for number in list(self._results):
            self.close(number)

    def _accept(self) -> None:
        while True:
            try:
                caller = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(caller,), name="frame-connection", daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        try:
            with closing(self._listener.admit(caller)) as link:
                self._answer(link, link.recv())
        except (EOFError, OSError, AuthenticationError) as error:
            log.debug("an executor broke off: %s", error)
        except JobAbandonedError:
            log.debug("an executor came too late")

    def _answer(self, link: Link, request: object) -> None:
        if not isinstance(request, (Pull, Push)) or (result := self._results.get(request.number)) is None:
            return
        if isinstance(request, Pull):
            _send_input(link, result)
        elif result.streamed:
            _stream(link, result, request.partition)
        else:
            result.add_delivery(request.attempt, _receive(link, result, request.partition))
            link.send_bytes(_ACKNOWLEDGED)


def _send_input(link: Link, result: FrameResult) -> None:
    if result.table is not None:
        link.send_bytes(to_bytes(result.table))
    link.send_bytes(END_OF_DATA)


def _receive(link: Link, result: FrameResult, partition: int) -> list[pa.RecordBatch]:
    """Receive a whole delivery; JobAbandonedError as ``FrameResult.note_size``."""
    batches: list[pa.RecordBatch] = []
    size = rows = 0
    while data := link.recv_bytes():
        for batch in from_bytes(data):
            batches.append(batch)
            rows += batch.num_rows
        size += len(data)
        result.note_size(partition, size, rows)
    return batches


def _stream(link: Link, result: FrameResult, partition: int) -> None:
    delivery = result.begin_delivery(partition)
    if delivery is None:
        # Received all the same: Spark may not know yet that it was delivered before.
        while link.recv_bytes():
            pass
        link.send_bytes(_ACKNOWLEDGED)
        return
    begun = False
    try:
        while data := link.recv_bytes():
            for batch in from_bytes(data):
                result.add_batch(delivery, batch)
                begun = True
    except BaseException:
        result.fail_delivery(delivery, begun)
        raise
    result.end_delivery(delivery)
    link.send_bytes(_ACKNOWLEDGED)
