# SPDX-License-Identifier: Apache-2.0
"""A simple file sink: records in, lines out, without Arrow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from headrace.api import ConfigDef, SinkConnector, SinkRecord, SinkTask
from headrace.api.sink import OffsetAndMetadata, TopicPartition


class PlainSinkConnector(SinkConnector):
    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SinkTask]:
        return PlainSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()


class PlainSinkTask(SinkTask):
    def start(self, props: Mapping[str, str]) -> None:
        self._file = Path(props["file"]).open("a")  # noqa: SIM115 - closed in stop

    def put(self, records: Collection[SinkRecord]) -> None:
        for record in records:
            self._file.write(f"{record.value}\n")
        self._file.flush()

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._file.flush()

    def stop(self) -> None:
        self._file.close()
