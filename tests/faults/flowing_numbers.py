# SPDX-License-Identifier: Apache-2.0
"""Numbers that flow through a sink while it is killed; its offsets are compared with what it has written."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer

from tests.support.polling import wait_for
from tests.support.sinks import committed

PER_SECOND = 500
FLUSH_S = 0.5  # what `WorkerProcess` sets
SLACK = 3
"""A commit takes its time on a busy machine, and what is put meanwhile is not in it."""


class Numbers:
    """Sends 0, 1, 2, ... in the background, and looks at offsets and lines meanwhile."""

    def __init__(self, bootstrap: str, topic: str, written: Callable[[], list[str]]) -> None:
        """``written`` returns the numbers that the sink has written, as text."""
        self._bootstrap = bootstrap
        self._topic = topic
        self.written = written
        self._over = threading.Event()
        self.sent = 0
        self.looks = 0
        self.offset = 0
        self.ahead: list[tuple[int, int]] = []

    @contextmanager
    def flowing(self) -> Iterator[None]:
        threads = [threading.Thread(target=target, daemon=True) for target in (self._send, self._watch)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(60)

    def _send(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "enable.idempotence": True, "log_level": 0})
        while not self._over.wait(1 / PER_SECOND):
            producer.produce(self._topic, b"%d" % self.sent)
            self.sent += 1
            producer.poll(0)
        assert producer.flush(60) == 0

    def _watch(self) -> None:
        """What is committed must be in the file already when it is read after that."""
        while not self._over.wait(0.2):
            try:
                offset = committed(self._bootstrap, f"connect-{self._topic}", self._topic).get(0, 0)
            except KafkaException:
                continue
            self.offset = offset
            written = set(self.written())
            missing = sum(str(n) not in written for n in range(offset))
            self.looks += 1
            if missing:
                self.ahead.append((offset, missing))

    def wait_until_caught_up(self) -> int:
        """Until all but the last second is committed, for the bound is one on the flow; the lines that are there."""
        wait_for(lambda: self.offset > max(0, self.sent - PER_SECOND), 90, lambda: f"{self.offset} of {self.sent}")
        return len(self.written())

    def assert_all_written(self) -> Counter[str]:
        """Each number is there, and no offset was committed before its numbers were; how often each is there."""
        wait_for(
            lambda: len(set(self.written())) >= self.sent,
            90,
            lambda: f"{self.sent} numbers: {len(set(self.written()))} are there",
        )
        found = Counter(self.written())
        assert set(found) == {str(n) for n in range(self.sent)}
        assert self.ahead == []
        assert self.looks > 3
        return found

    def assert_at_least_once(self, kills: int) -> None:
        found = self.assert_all_written()
        twice = sum(found.values()) - len(found)
        assert twice <= kills * PER_SECOND * FLUSH_S * SLACK, f"{twice} of {self.sent} lines are there again"
