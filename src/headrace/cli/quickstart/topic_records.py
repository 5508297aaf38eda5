# SPDX-License-Identifier: Apache-2.0
"""The records of a topic that a read_committed consumer sees, counted as they come."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING

from headrace.api.errors import ConnectError
from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.log.kafka_based_log import KafkaBasedLog, LogRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TopicRecords:
    """A reader of a topic of one partition, from its start on, on a thread of its own."""

    def __init__(self, brokers: str, topic: str) -> None:
        """`start` creates the topic if it does not exist."""
        client = {"bootstrap.servers": brokers}
        consumer = {**client, "isolation.level": "read_committed"}
        self._topic = topic
        self._offsets = array("q")
        self._log = KafkaBasedLog(topic, consumer, None, self._add, client, TopicSpec(topic, 1, 1))

    def start(self) -> None:
        self._log.start()

    def stop(self) -> None:
        self._log.stop()

    def count(self) -> int:
        """Return the number of records that have been read."""
        return len(self._offsets)

    def offsets_to_end(self, timeout: float) -> NDArray[np.int64]:
        """Return the offsets of all records that are in the topic now. Raise ConnectError after `timeout` seconds."""
        import numpy as np

        try:
            self._log.read_to_end().result(timeout)
        except FutureTimeoutError as error:
            reason = self._log.waiting_for() or "no answer from the broker"
            raise ConnectError(f"Topic {self._topic} was not read to its end in {timeout:.0f} s: {reason}") from error
        return np.array(self._offsets, np.int64)

    def _add(self, records: Sequence[LogRecord]) -> None:
        self._offsets.extend(record.offset for record in records)
