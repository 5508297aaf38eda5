# SPDX-License-Identifier: Apache-2.0
"""A sink connector's offsets: those of its consumer group. Java: ``SinkUtils`` and ``Worker.sinkConnectorOffsets``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.api.connector import Connector
from headrace.api.errors import DataError
from headrace.api.sink import NewOffset, OffsetJobs, SinkConnector, TopicPartition
from headrace.config import client_configs
from headrace.config.distributed_config import GROUP_ID
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.worker_config import WorkerConfig
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.model.cluster_config_state import Config
from headrace.model.info import ConnectorOffset, OffsetBounds, PartitionBounds

TOPIC: Final = "kafka_topic"
PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LARGEST: Final = {"partition": 2**31 - 1, "offset": 2**63 - 1}


class SinkOffsets:
    """``headrace.worker.offsets.connector_offsets.Offsets`` of a sink connector."""

    def __init__(self, config: Config, worker: WorkerConfig) -> None:
        self._config = config
        self._props = client_configs.consumer_group_admin(worker, config)
        consumer = client_configs.sink_task_consumer(worker, config, 0)
        self._group = consumer[GROUP_ID]
        self._reset = consumer.get("auto.offset.reset", "latest")
        self._groups = ConsumerGroups(self._props)

    def read(self) -> tuple[ConnectorOffset, ...]:
        found = sorted(self._groups.offsets(self._group).items())
        return tuple(sink_offset(where, offset) for where, offset in found)

    def bounds(self) -> OffsetBounds:
        admin = TopicAdmin(self._props)
        try:
            wanted = self._all(admin)
            topics = sorted({where.topic for where in wanted})
            firsts = {topic: admin.begin_offsets(topic) for topic in topics}
            ends = {topic: admin.end_offsets(topic) for topic in topics}
        finally:
            admin.close()
        known = [where for where in wanted if where.partition in firsts[where.topic]]  # others' topics are deleted
        partitions = (
            PartitionBounds(
                sink_partition(where), firsts[where.topic][where.partition], ends[where.topic][where.partition]
            )
            for where in known
            if where.partition in ends[where.topic]
        )
        return OffsetBounds(self._reset, tuple(partitions))

    def normalize(
        self, requested: Sequence[ConnectorOffset], known: Sequence[ConnectorOffset]
    ) -> tuple[ConnectorOffset, ...]:
        parsed = parse_sink_offsets(requested)
        self._check_exist(parsed)
        return tuple(sink_offset(where, offset) for where, offset in parsed.items())

    def call_alter_offsets(self, connector: Connector, wanted: Sequence[ConnectorOffset]) -> bool:
        assert isinstance(connector, SinkConnector)
        config = {key: text for key, text in self._config.items() if text is not None}
        return bool(connector.alter_offsets(config, parse_sink_offsets(wanted)))

    def alter_jobs(self, connector: Connector, wanted: Sequence[ConnectorOffset] | None) -> OffsetJobs | None:
        assert isinstance(connector, SinkConnector)
        if type(connector).frame_alter_offsets is SinkConnector.frame_alter_offsets:
            return None  # saves requests to the brokers
        config = {key: text for key, text in self._config.items() if text is not None}
        return connector.frame_alter_offsets(config, self._new_offsets(wanted))

    def write(self, wanted: Sequence[ConnectorOffset]) -> None:
        parsed = parse_sink_offsets(wanted)
        self._groups.alter_offsets(
            self._group, {where: offset for where, offset in parsed.items() if offset is not None}
        )
        self._groups.delete_offsets(self._group, [where for where, offset in parsed.items() if offset is None])

    def reset(self, known: Sequence[ConnectorOffset]) -> None:
        self._groups.delete_group(self._group)

    def _new_offsets(self, wanted: Sequence[ConnectorOffset] | None) -> dict[TopicPartition, NewOffset]:
        """Return the positions at which the group will continue.

        Where no valid offset is committed, that is Kafka's reset position.
        """
        admin = TopicAdmin(self._props)
        try:
            partitions: Mapping[TopicPartition, int | None] = (
                self._all(admin) if wanted is None else parse_sink_offsets(wanted)
            )
            topics = {where.topic for where in partitions}
            firsts = {topic: admin.begin_offsets(topic) for topic in topics}
            resets = firsts if self._reset == "earliest" else {topic: admin.end_offsets(topic) for topic in topics}
        finally:
            admin.close()
        found = {}
        for where, offset in partitions.items():
            first = firsts[where.topic].get(where.partition)
            if first is None:
                continue  # its topic is deleted
            if offset is not None and offset >= first:
                found[where] = NewOffset(offset, asked=True)
            else:
                found[where] = NewOffset(resets[where.topic][where.partition], asked=False)
        return found

    def _all(self, admin: TopicAdmin) -> dict[TopicPartition, int | None]:
        """Return all partitions that have offsets, or may have had, should they be deleted for a second time."""
        named = SinkConnectorConfig(self._config).topics
        partitions = {TopicPartition(topic, number) for topic in named for number in admin.partitions(topic)}
        return dict.fromkeys(sorted(partitions | self._groups.offsets(self._group).keys()))

    def _check_exist(self, wanted: Mapping[TopicPartition, int | None]) -> None:
        """Raise DataError for a new offset of an unknown partition; that of a deleted topic can still be deleted."""
        topics = sorted({where.topic for where, offset in wanted.items() if offset is not None})
        if not topics:
            return
        admin = TopicAdmin(self._props)
        try:
            partitions = {topic: admin.partitions(topic) for topic in topics}
        finally:
            admin.close()
        for where, offset in wanted.items():
            if offset is not None and where.partition not in partitions[where.topic]:
                raise DataError(f"There is no partition {where.partition} of topic '{where.topic}'")


def sink_offset(where: TopicPartition, offset: int | None) -> ConnectorOffset:
    """Return the offset as the REST API shows it."""
    return ConnectorOffset(sink_partition(where), None if offset is None else {OFFSET: offset})


def sink_partition(where: TopicPartition) -> dict[str, Any]:
    """Return the partition as the REST API shows it."""
    return {TOPIC: where.topic, PARTITION: where.partition}


def parse_sink_offsets(requested: Sequence[ConnectorOffset]) -> dict[TopicPartition, int | None]:
    """Return the offsets by partition, None to delete one. Raise DataError for an invalid partition or offset."""
    return {_partition(each.partition): _offset(each.offset) for each in requested}


def _partition(fields: Mapping[str, Any] | None) -> TopicPartition:
    if fields is None or fields.get(TOPIC) is None or fields.get(PARTITION) is None:
        raise DataError(
            f"The partition of a sink's offset must have the keys '{TOPIC}' and '{PARTITION}', not {fields}"
        )
    return TopicPartition(str(fields[TOPIC]), _integer(fields[PARTITION], "partition"))


def _offset(fields: Mapping[str, Any] | None) -> int | None:
    if fields is None:
        return None
    if OFFSET not in fields:
        raise DataError(f"The offset of a sink must be null or have the key '{OFFSET}', not {fields}")
    return _integer(fields[OFFSET], "offset")


def _integer(value: Any, what: str) -> int:
    """Parse a number; its text is accepted too, as in Kafka Connect."""
    number = int(value) if not isinstance(value, bool) and _INTEGER.fullmatch(str(value)) else None
    if number is None or not 0 <= number <= _LARGEST[what]:
        raise DataError(f"Kafka {what}s are whole numbers from 0 to {_LARGEST[what]}, not {value!r}")
    return number
