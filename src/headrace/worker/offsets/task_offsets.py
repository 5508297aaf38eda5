# SPDX-License-Identifier: Apache-2.0
"""The source offsets of one task: reads and writes for its process, and copies of its commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headrace.api.errors import ConnectError, RetriableError
from headrace.model.cluster_config_state import Config
from headrace.model.ids import ConnectorTaskId
from headrace.storage.offset_codec import encode_key, encode_offset
from headrace.worker.offsets.offset_stores import OffsetStores
from headrace.worker.stages import Stages

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]


class TaskOffsets(Protocol):
    """The source offsets of one task's connector."""

    def open(self) -> None:
        """Create the connector's own offsets topic, if it has one that is not there yet. Blocks.

        Raise ConfigError if that fails, or the topic cannot be used; RetriableError while that is not known.
        """

    def prepare(self) -> None:
        """Open the topics, as ``open``, for an attempt that is about to read its offsets."""

    def read(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """Read offsets, after a read to the end of the offsets topics (invariant 3). Blocks. Errors as of ``open``."""

    def write(self, records: Mapping[bytes, bytes | None]) -> None:
        """Write offset records to the worker's store; blocks until they are there. Raise ConnectError if not."""

    def committed(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Accept offsets that have become visible; must not block."""

    def figures(self) -> Mapping[str, float]:
        """Return the lag of the offsets' copies, where there are any; must not block."""


class SourceTaskOffsets:
    """``TaskOffsets`` of a source task."""

    def __init__(self, stores: OffsetStores, id: ConnectorTaskId, config: Config, stages: Stages) -> None:
        self._stores = stores
        self._id = id
        self._config = config
        self._stages = stages
        self._copied = stores.has_own(config)
        self._first_read = True

    def open(self) -> None:
        with self._stages.stage(f"opening of the offsets topics of task {self._id}"):
            self._stores.store_of(self._config)

    def prepare(self) -> None:
        self.open()
        self._stores.log_origin(self._config)
        self._first_read = True

    def read(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        with self._stages.stage(f"reading of the offsets of task {self._id}"):
            found = self._read(partitions)
        if self._first_read:
            # The attempt has fenced all others and committed nothing yet.
            self._first_read = False
            self._stores.copy_missing(self._config, [encode_key(self._id.connector, each) for each in partitions])
        return found

    def _read(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        try:
            return list(self._stores.reader(self._config).offsets(partitions))
        except RetriableError:
            raise
        except ConnectError as error:
            raise (self._stores.own_topic_error(self._config) or error) from error

    def write(self, records: Mapping[bytes, bytes | None]) -> None:
        self._stores.write_to_worker_store(records)

    def committed(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        if not self._copied:
            return
        records = {encode_key(self._id.connector, partition): encode_offset(offset) for partition, offset in offsets}
        self._stores.copy_to_worker_store(self._config, records)

    def figures(self) -> Mapping[str, float]:
        """Return the copy lag of the connector as a whole, as far as this worker has its tasks."""
        if not self._copied:
            return {}
        lag = self._stores.copy_lag(self._config)
        return {"global-offset-copy-pending": float(lag.pending), "global-offset-copy-lag-ms": lag.seconds * 1000}


class NoTaskOffsets:
    """``TaskOffsets`` of a sink's task, which keeps its offsets in its consumer group."""

    def open(self) -> None:
        """Do nothing: there is nothing to open."""

    def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def read(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        return [None] * len(partitions)

    def write(self, records: Mapping[bytes, bytes | None]) -> None:
        raise ConnectError("a sink's task has no source offsets to write")

    def committed(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> None:
        """Do nothing: there are no copies."""

    def figures(self) -> Mapping[str, float]:
        return {}
