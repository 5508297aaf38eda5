# SPDX-License-Identifier: Apache-2.0
"""Where executors fetch the input of a task's frame jobs and bring the results: in the task's process."""

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
from headrace.spark.channel.endpoint import Doorway, Endpoint, Interface, Link
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import FrameJobEnded
from headrace.spark.process.frame_ends import END, Pull, Push, from_bytes, to_bytes

if TYPE_CHECKING:
    import socket

    import pyarrow as pa

_log = logging.getLogger(__name__)
_AHEAD: Final = 2
"""Batches of a streamed partition that are here and not taken yet."""
_STALLED: Final = 60
"""Seconds in which nobody has begun to bring the partition that comes next, and others wait for that."""
_HEARD: Final = b"heard"


class Gone(Exception):
    """Nobody waits for this job, or this part of it, any more."""


class FrameResult:
    """What has come of one job. The task's thread waits for it; each connection has a thread that brings some of it.

    Spark may run the same partition twice: for a retry, for speculation, for a lost executor. Of each partition the
    delivery is taken of that attempt which Spark itself counts, and all others are dropped, so none counts twice and
    none in part (invariant 8). It has to be Spark's choice: where attempts differ, as they do behind a shuffle of rows
    that come in another order each time, only those that Spark counts together belong together.
    """

    def __init__(self, table: pa.Table | None, *, streamed: bool, limit: ResultLimit | None = None) -> None:
        """``table`` is the input.

        A ``streamed`` result is taken in order, while it is delivered: of each partition the first delivery. Any other
        one is kept until it is complete, so it has a ``limit``.
        """
        self.table = table
        self.streamed = streamed
        self._limit = limit or ResultLimit()
        self._sizes: dict[int, tuple[int, int]] = {}
        self._excess: str | None = None
        self._changed = threading.Condition()
        self._ended: FrameJobEnded | None = None
        self._over = False
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
        """Blocks until the worker has told how the job ended. DataError as soon as there is more than the limit."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended is not None or self._excess is not None)
            if self._excess is not None:
                raise DataError(self._excess)
            assert self._ended is not None
            return self._ended

    def delivered(self, attempts: Sequence[int]) -> list[pa.RecordBatch]:
        """What these attempts have brought, of a job that ended well. RetriableError if a part of it did not arrive."""
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

    def leave(self) -> None:
        """Nothing is wanted any more: whoever still brings some is turned away."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    # ---- for others

    def ended(self, ended: FrameJobEnded) -> None:
        """The worker tells; every delivery that Spark knows of was heard before."""
        with self._changed:
            self._ended = ended
            self._changed.notify_all()

    def hold(self, partition: int, size: int, rows: int) -> None:
        """So many bytes and rows of the partition are here, and not all of it yet. Gone if that is too much."""
        with self._changed:
            # Of attempts at one partition one counts in the end.
            before = self._sizes.get(partition, (0, 0))
            self._sizes[partition] = max(before[0], size), max(before[1], rows)
            self._excess = self._excess or self._limit.excess(*map(sum, zip(*self._sizes.values(), strict=True)))
            if self._excess is not None:
                self._complete.clear()
                self._changed.notify_all()
            if self._excess is not None or self._over:
                raise Gone

    def take(self, attempt: int, batches: list[pa.RecordBatch]) -> None:
        """A complete delivery."""
        with self._changed:
            if not self._over and self._excess is None:
                self._complete[attempt] = batches

    def begin(self, partition: int) -> int | None:
        """Wait for this partition's turn: gives the delivery a number; None if another one has delivered it."""
        with self._changed:
            while not self._need_not_wait(partition):
                heard = self._changed.wait(_STALLED)
                # The turn may have come in the very moment in which patience ended.
                if not heard and self._delivering is None and not self._need_not_wait(partition):
                    # Those who wait may have all the cores, and one that comes before them was lost.
                    self._broken = (
                        f"no core was free for partition {self._turn} of a frame job's result for {_STALLED} s"
                    )
                    self._changed.notify_all()
            if self._over:
                raise Gone
            if self._turn > partition:
                return None
            self._deliveries += 1
            self._delivering = self._deliveries
            return self._deliveries

    def _need_not_wait(self, partition: int) -> bool:
        return self._over or self._turn > partition or (self._turn == partition and self._delivering is None)

    def bring(self, delivery: int, batch: pa.RecordBatch) -> None:
        """Waits while enough is here that is not taken yet."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or len(self._waiting) < _AHEAD)
            if self._over or self._delivering != delivery:
                raise Gone
            self._waiting.append(batch)
            self._changed.notify_all()

    def complete(self, delivery: int) -> None:
        with self._changed:
            if self._delivering == delivery:
                self._turn, self._delivering = self._turn + 1, None
                self._changed.notify_all()

    def broke(self, delivery: int, begun: bool) -> None:
        """A delivery ended early. If it has ``begun``, no other one can stand in: its order may be another one."""
        with self._changed:
            if self._delivering == delivery and not self._over:
                self._delivering = None
                if begun:
                    self._broken = "an executor was lost while it brought the rows of a frame job"
                self._changed.notify_all()


class FrameExchange:
    """Listens for executors, as long as the process lives. ``results`` are the jobs that run, by number."""

    def __init__(self, place: Path | Interface) -> None:
        """``place``: as ``Doorway``."""
        self._doorway = Doorway(place)
        self._results: dict[int, FrameResult] = {}
        threading.Thread(target=self._accept, name="frame-exchange", daemon=True).start()

    @property
    def endpoint(self) -> Endpoint:
        return self._doorway.endpoint

    def open(self, number: int, result: FrameResult) -> None:
        self._results[number] = result

    def close(self, number: int) -> None:
        result = self._results.pop(number, None)
        if result is not None:
            result.leave()

    def ended(self, ended: FrameJobEnded) -> None:
        """Any thread."""
        result = self._results.get(ended.number)
        if result is not None:
            result.ended(ended)

    def shut(self) -> None:
        self._doorway.close()
        for number in list(self._results):
            self.close(number)

    def _accept(self) -> None:
        while True:
            try:
                caller = self._doorway.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(caller,), name="frame-connection", daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        try:
            with closing(self._doorway.admit(caller)) as link:
                self._answer(link, link.recv())
        except (EOFError, OSError, AuthenticationError) as error:
            _log.debug("an executor broke off: %s", error)
        except Gone:
            _log.debug("an executor came too late")

    def _answer(self, link: Link, wish: object) -> None:
        if not isinstance(wish, (Pull, Push)) or (result := self._results.get(wish.number)) is None:
            return
        if isinstance(wish, Pull):
            _send_input(link, result)
        elif result.streamed:
            _stream(link, result, wish.partition)
        else:
            result.take(wish.attempt, _received(link, result, wish.partition))
            link.send_bytes(_HEARD)


def _send_input(link: Link, result: FrameResult) -> None:
    if result.table is not None:
        link.send_bytes(to_bytes(result.table))
    link.send_bytes(END)


def _received(link: Link, result: FrameResult, partition: int) -> list[pa.RecordBatch]:
    """A whole delivery; Gone as ``FrameResult.hold`` raises it."""
    batches: list[pa.RecordBatch] = []
    size = rows = 0
    while data := link.recv_bytes():
        for batch in from_bytes(data):
            batches.append(batch)
            rows += batch.num_rows
        size += len(data)
        result.hold(partition, size, rows)
    return batches


def _stream(link: Link, result: FrameResult, partition: int) -> None:
    delivery = result.begin(partition)
    if delivery is None:
        # Heard all the same: Spark may not know yet that this was done before.
        while link.recv_bytes():
            pass
        link.send_bytes(_HEARD)
        return
    begun = False
    try:
        while data := link.recv_bytes():
            for batch in from_bytes(data):
                result.bring(delivery, batch)
                begun = True
    except BaseException:
        result.broke(delivery, begun)
        raise
    result.complete(delivery)
    link.send_bytes(_HEARD)
