# SPDX-License-Identifier: Apache-2.0
"""The statuses that workers write to their status topic, which has the same format for every engine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from confluent_kafka import Consumer, TopicPartition

_KINDS = ("connector", "task")


@dataclass(frozen=True, slots=True)
class Reported:
    """One status. `time` (`time.time`) is when its worker wrote it."""

    kind: str
    name: str
    state: str
    worker_id: str
    time: float


class StatusTopic:
    """Follows the topic, from its end on, in a thread while the block runs."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap_servers, "group.id": "bench-statuses", "enable.auto.commit": False}
        )
        self._topic = topic
        self._statuses: list[Reported] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        partitions = self._consumer.list_topics(self._topic, timeout=30).topics[self._topic].partitions
        ends = {
            p: self._consumer.get_watermark_offsets(TopicPartition(self._topic, p), timeout=30)[1] for p in partitions
        }
        self._consumer.assign([TopicPartition(self._topic, p, end) for p, end in ends.items()])
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._consumer.close()

    def wait(self, condition: Callable[[], bool], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"not within {timeout} s; the last ones: {self._statuses[-3:]}")
            time.sleep(0.05)

    def first(self, kind: str, state: str, worker_id: str | None = None) -> dict[str, float]:
        """When each connector or task was first said to be in `state`, if it was, by that worker if one is given."""
        found = [each for each in self._statuses if (each.kind, each.state) == (kind, state)]
        found: dict[str, float] = {}
        for each in found:
            if worker_id in (None, each.worker_id):
                found.setdefault(each.name, each.time)
        return found

    def of(self, kind: str) -> set[str]:
        """The connectors or tasks that anything was said of."""
        return {each.name for each in self._statuses if each.kind == kind}

    def _follow(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(1000, timeout=0.1):
                key, value = (message.key() or b"").decode(), message.value()
                kind, name = next(
                    (
                        (kind, key.removeprefix(f"status-{kind}-"))
                        for kind in _KINDS
                        if key.startswith(f"status-{kind}-")
                    ),
                    ("", ""),
                )
                if message.error() is None and kind and value is not None:
                    status = json.loads(value)
                    self._statuses.append(
                        Reported(kind, name, status["state"], status["worker_id"], message.timestamp()[1] / 1000)
                    )
