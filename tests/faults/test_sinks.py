# SPDX-License-Identifier: Apache-2.0
"""Sinks and SIGKILL: nothing is lost, little is written twice, and offsets are never ahead (invariant 9)."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, Producer

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import committed, create_sink, lines, make_topic, wait_for_lines
from tests.support.worker_process import WorkerProcess

PER_SECOND = 500
FLUSH_S = 0.5  # what `WorkerProcess` sets
SLACK = 3
"""A commit takes its time on a busy machine, and what is put meanwhile is not in it."""


class Numbers:
    """Sends 0, 1, 2, ... in the background, and looks at offsets and lines meanwhile."""

    def __init__(self, bootstrap: str, topic: str, file: Path) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._file = file
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
            written = set(lines(self._file))
            missing = sum(str(n) not in written for n in range(offset))
            self.looks += 1
            if missing:
                self.ahead.append((offset, missing))

    def wait_until_caught_up(self) -> int:
        """Until all but the last second is committed, for the bound is one on the flow; the lines that are there."""
        wait_for(lambda: self.offset > max(0, self.sent - PER_SECOND), 90, lambda: f"{self.offset} of {self.sent}")
        return len(lines(self._file))

    def assert_at_least_once(self, kills: int) -> None:
        wait_for(
            lambda: len(set(lines(self._file))) >= self.sent,
            90,
            lambda: f"{self.sent} numbers: {len(set(lines(self._file)))} are there",
        )
        found = Counter(lines(self._file))
        assert set(found) == {str(n) for n in range(self.sent)}
        twice = sum(found.values()) - len(found)
        assert twice <= kills * PER_SECOND * FLUSH_S * SLACK, f"{twice} of {self.sent} lines are there again"
        assert self.ahead == []
        assert self.looks > 3


def test_the_tasks_process_is_killed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, tmp_path / "out.txt")
    make_topic(broker.bootstrap_servers, unique)
    session = {"consumer.override.session.timeout.ms": "240000"}
    with numbers.flowing():
        create_sink(worker, unique, unique, tmp_path / "out.txt", **session)
        for _ in range(3):
            written = numbers.wait_until_caught_up()
            began = time.monotonic()
            worker.task_process().kill()
            wait_for_lines(tmp_path / "out.txt", written + PER_SECOND)
            # The group would notice the death after four minutes; its successor does not wait for that.
            assert time.monotonic() - began < 60
    numbers.assert_at_least_once(3)
    worker.delete(unique)


def test_the_worker_is_killed(own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path) -> None:
    numbers = Numbers(broker.bootstrap_servers, unique, tmp_path / "out.txt")
    make_topic(broker.bootstrap_servers, unique)
    own_worker.start()
    with numbers.flowing():
        create_sink(own_worker, unique, unique, tmp_path / "out.txt")
        numbers.wait_until_caught_up()
        own_worker.kill()
        wait_for(lambda: own_worker.leftovers() == [], 30, lambda: f"the end of {own_worker.leftovers()}")
        written = len(lines(tmp_path / "out.txt"))
        own_worker.start()
        wait_for_lines(tmp_path / "out.txt", written + PER_SECOND)
    numbers.assert_at_least_once(1)


def test_the_broker_is_killed(
    worker_of_own_broker: WorkerProcess, own_broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    worker, numbers = worker_of_own_broker, Numbers(own_broker.bootstrap_servers, unique, tmp_path / "out.txt")
    make_topic(own_broker.bootstrap_servers, unique)
    with numbers.flowing():
        create_sink(worker, unique, unique, tmp_path / "out.txt")
        written = numbers.wait_until_caught_up()
        own_broker.kill()
        own_broker.start()
        wait_for_lines(tmp_path / "out.txt", written + PER_SECOND, 120)
    numbers.assert_at_least_once(1)
    worker.wait_for_tasks(unique)
