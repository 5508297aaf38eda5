# SPDX-License-Identifier: Apache-2.0
"""The dead letter topic of one connector, and the positions up to which its letters are done with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final

from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.connector_config import DLQ_TOPIC
from headrace.config.distributed_config import GROUP_ID
from headrace.config.worker_config import WorkerConfig
from headrace.inspection.dead_letters.letter import PASSED, Letter, find_mark, is_letter
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.kafka.data.consumed_messages import ConsumedMessages
from headrace.kafka.data.range_reader import Range, RangeReader, stable_offsets
from headrace.kafka.errors import AuthorizationError
from headrace.model.cluster_config_state import Config
from headrace.model.deadline import Deadline
from headrace.task.sink.sink_record_converter import Originals

_BATCH: Final = 500
_RETENTION: Final = "retention.ms"
_TIMESTAMP_TYPE: Final = "message.timestamp.type"
_CLEANUP: Final = "cleanup.policy"


class NoDeadLettersError(ConnectError):
    """The connector has no dead letter topic (404)."""


class LetterTopic:
    """Reads the dead letters of a connector. Every method blocks on the brokers; for one thread.

    Raise RetriableError where trying again can help, else ConnectError.
    """

    def __init__(self, worker: WorkerConfig, config: Config) -> None:
        """``config`` is the connector's, with its references resolved. NoDeadLettersError if it has no such topic."""
        self.connector = config["name"] or ""
        self.topic = (config.get(DLQ_TOPIC) or "").strip()
        if not self.topic:
            raise NoDeadLettersError(f"Connector {self.connector} has no dead letter topic ({DLQ_TOPIC} is not set)")
        self.props: Mapping[str, str] = client_configs.dead_letter_consumer(worker, config)
        self.group = self.props[GROUP_ID]
        self._admin = TopicAdmin(self.props)

    def partitions(self, topic: str) -> tuple[int, ...]:
        """Return the partitions of any topic of the same cluster; none if it does not exist."""
        return self._admin.partitions(topic)

    def kept_ms(self, topic: str) -> int | None:
        """Return how long any topic of the same cluster keeps a record after its timestamp, in ms.

        None if it does not depend on that, or is not known as the worker may not read it.
        """
        try:
            config = self._admin.config(topic)
        except AuthorizationError:
            return None
        kept = int(config.get(_RETENTION) or -1)
        of_producers = config.get(_TIMESTAMP_TYPE) == "CreateTime" and "delete" in (config.get(_CLEANUP) or "")
        return kept if of_producers and kept >= 0 else None

    def pending(self, deadline: Deadline | None = None) -> dict[int, Range]:
        """Return the range of each partition that is not passed yet; none if the topic does not exist.

        A redrive that is ending is waited for. Where the group has no offset, the topic is read for the last position
        that a redrive has left in it; after ``deadline`` the last one that was found until then counts. Raise
        ConnectError for a position beyond the end: after a loss of records it is not known which letters were redriven,
        and Kafka deletes positions with their topic.
        """
        begins = self._admin.begin_offsets(self.topic)
        # Before the ends: a redrive that runs meanwhile may pass what is behind them.
        positions = stable_offsets(self.props, self.topic, begins)
        futures = self._admin.list_offsets(self.topic, begins, committed=True)
        ends = {partition: int(future.result(60).offset) for partition, future in futures.items()}
        unknown = {
            partition: Range(begins[partition], ends[partition]) for partition in ends if partition not in positions
        }
        positions |= self._recorded_positions(unknown, deadline)
        ranges = {}
        for partition, end in ends.items():
            begin = max(positions.get(partition, 0), begins[partition])
            if begin > end:
                raise ConnectError(
                    f"Connector {self.connector}: group {self.group} has passed offset {begin} of "
                    f"{self.topic}-{partition}, which ends at {end}: records of the topic are lost, and letters before "
                    "may have been redriven. "
                    "Set the group's offset with kafka-consumer-groups.sh to the first letter that is pending"
                )
            ranges[partition] = Range(begin, end)
        return ranges

    def _recorded_positions(self, ranges: Mapping[int, Range], deadline: Deadline | None) -> dict[int, int]:
        """Return the last positions that redrives of the connector have written to the topic, by partition."""
        found: dict[int, int] = {}
        with closing(self.reader(ranges)) as reader:
            while not (deadline is not None and deadline.expired) and (batch := reader.read_all(_BATCH)):
                for record in (each.record for each in batch):
                    mark = find_mark(record.headers, PASSED, record.topic)
                    if mark is not None and (mark.connector, mark.partition) == (self.connector, record.partition):
                        found[record.partition] = mark.offset
        return found

    def reader(self, ranges: Mapping[int, Range]) -> LetterReader:
        return LetterReader(self.connector, RangeReader(self.props, self.topic, ranges))

    def letters(self, ranges: Mapping[int, Range]) -> Iterator[Letter]:
        """Yield the letters of ranges, in the order of each partition."""
        with closing(self.reader(ranges)) as reader:
            while batch := reader.read(_BATCH):
                yield from batch


class LetterReader:
    """Reads letters a batch at a time. Close it; for one thread."""

    def __init__(self, connector: str, records: RangeReader) -> None:
        self._connector = connector
        self.records = records

    def read(self, count: int) -> list[Letter]:
        """Return the next letters, ``count`` at most; none only at the end."""
        while records := self.read_all(count):
            if letters := [record for record in records if is_letter(record)]:
                return letters
        return []

    def read_all(self, count: int) -> list[Letter]:
        """Return the next records, also those that are no letters, ``count`` at most; none only at the end."""
        originals = Originals(ConsumedMessages(self.records.read(count)))
        return [Letter(self._connector, originals[row]) for row in range(len(originals))]

    def close(self) -> None:
        self.records.close()
