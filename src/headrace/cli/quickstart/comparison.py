# SPDX-License-Identifier: Apache-2.0
"""The counts of a quickstart: a topic's records, the rows of Parquet files, and the comparison of the two."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from pathlib import Path
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


class ParquetRows:
    """A directory that a sink writes to. A file is never changed, so each is opened once. For one thread."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._rows: dict[Path, int] = {}

    def count(self) -> int:
        """Return the number of rows of the files that are there now."""
        import pyarrow.parquet as pq

        for file in self._files():
            if file not in self._rows:
                self._rows[file] = pq.ParquetFile(file).metadata.num_rows
        return sum(self._rows.values())

    def column(self, name: str) -> NDArray[np.int64]:
        """Return all values of a column of whole numbers."""
        import numpy as np
        import pyarrow.parquet as pq

        columns = [pq.ParquetFile(file).read([name]).column(0).to_numpy() for file in self._files()]
        return np.concatenate(columns).astype(np.int64) if columns else np.empty(0, np.int64)

    def _files(self) -> Iterator[Path]:
        """Iterate over the files that readers see: neither batches that are being written nor the sink's log."""
        yield from sorted(self.directory.glob("*.parquet"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts: records that a read_committed consumer sees, rows, records without a row, rows that are not the first."""

    records: int
    rows: int
    missing: int
    duplicates: int

    @property
    def exactly_once(self) -> bool:
        return self.records == self.rows and not self.missing and not self.duplicates


def compare(offsets: NDArray[np.int64], rows: NDArray[np.int64]) -> Comparison:
    """Compare the offsets of the records with those of the rows."""
    import numpy as np

    distinct = np.unique(rows)
    missing = np.setdiff1d(offsets, distinct).size
    return Comparison(offsets.size, rows.size, missing, rows.size - distinct.size)
