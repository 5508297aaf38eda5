# SPDX-License-Identifier: Apache-2.0
"""A source of changes of rows in Debezium's form: of each row its insertion, and of odd ones the deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.api import (
    ConfigDef,
    ExactlyOnceSupport,
    Schema,
    SchemaBuilder,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Struct,
)

_KEY = SchemaBuilder.struct().name("shop.orders.Key").field("id", Schema.INT64).build()
_ROW = SchemaBuilder.struct().name("shop.orders.Value").optional()
ROW = _ROW.field("id", Schema.INT64).field("item", Schema.OPTIONAL_STRING).build()
SOURCE = SchemaBuilder.struct().name("shop.Source").field("lsn", Schema.INT64).build()
ENVELOPE = (
    SchemaBuilder.struct()
    .name("shop.orders.Envelope")
    .field("before", ROW)
    .field("after", ROW)
    .field("source", SOURCE)
    .field("op", Schema.STRING)
    .build()
)


class ChangesConnector(SourceConnector):
    """One task: changes of the rows 0 to `rows` - 1."""

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SourceTask]:
        return ChangesTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


class ChangesTask(SourceTask):
    """A poll has the changes of one row."""

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        offset = self.context.offset_storage_reader.offset({})
        self._next = offset["row"] + 1 if offset else 0
        self._rows, self._topic = int(props["rows"]), props["topic"]

    def poll(self) -> list[SourceRecord]:
        if self._next == self._rows:
            return []
        number, self._next = self._next, self._next + 1
        row = Struct(ROW, {"id": number, "item": f"item {number}"})
        changes = [(None, row, "c"), (row, None, "d")] if number % 2 else [(None, row, "c")]
        return [self._record(number, *change) for change in changes]

    def stop(self) -> None:
        pass

    def _record(self, number: int, before: Struct | None, after: Struct | None, op: str) -> SourceRecord:
        values: dict[str, Any] = {"before": before, "after": after, "source": Struct(SOURCE, {"lsn": number}), "op": op}
        key = Struct(_KEY, {"id": number})
        return SourceRecord({}, {"row": number}, self._topic, None, _KEY, key, ENVELOPE, Struct(ENVELOPE, values))
