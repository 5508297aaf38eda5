# SPDX-License-Identifier: Apache-2.0
"""A source that polls just what its configuration lists, and a function and functions for queries to go with it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.api import (
    ConfigDef,
    ExactlyOnceSupport,
    Headers,
    RetriableError,
    Schema,
    SchemaBuilder,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Struct,
)
from headrace.api.source import ConnectorTransactionBoundaries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SALE = SchemaBuilder.struct().name("Sale").field("item", Schema.STRING).field("price", Schema.INT64).build()


class ListedSourceConnector(SourceConnector):
    """`polls` is JSON: a list of polls, each a list of values. `kind` is text, sale, plain (no schema) or table."""

    def version(self) -> str:
        return "1"

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[SourceTask]:
        return ListedSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED


class ListedSourceTask(SourceTask):
    """The offset is the number of polls done. With `own.boundaries` a transaction ends every second poll."""

    def start(self, props: Mapping[str, str]) -> None:
        self._props = props
        self._polls = json.loads(props["polls"])
        self._repeat = int(props.get("repeat", "1"))
        offset = self.context.offset_storage_reader.offset({"list": 1})
        self._done = int(offset["polls"]) if offset else 0

    def poll(self) -> list[SourceRecord] | pa.Table | None:
        if self._done >= len(self._polls) * self._repeat:
            time.sleep(0.05)
            return None
        values = self._polls[self._done % len(self._polls)]
        self._done += 1
        transactions = self.context.transaction_context
        if transactions is not None and self._done % 2 == 0:
            transactions.commit_transaction()
        if self._props["kind"] == "table":
            return self._table(values)
        return [self._record(index, value) for index, value in enumerate(values)]

    def stop(self) -> None:
        pass

    def _record(self, index: int, value: Any) -> SourceRecord:
        kind = self._props["kind"]
        if value is None or (kind == "plain" and not isinstance(value, dict)):
            schema = None
        elif kind == "text" or isinstance(value, str):
            schema = Schema.STRING
        elif kind == "plain":
            schema = None
        else:
            schema, value = SALE, Struct(SALE, value)
        headers = Headers()
        headers.add("from", "list", Schema.STRING)
        return SourceRecord(
            {"list": 1}, {"polls": self._done}, self._props["topic"], None, Schema.STRING, f"k{index}", schema, value,
            int(self._props["timestamp"]) + index, headers,
        )  # fmt: skip

    def _table(self, values: list[Any]) -> pa.Table:
        count = len(values)
        return pa.table(
            {
                "value": pa.array(values),
                "topic": pa.array([self._props["topic"]] * count),
                "source_partition": pa.array([{"list": 1}] * count),
                "source_offset": pa.array([{"polls": self._done}] * count),
            }
        )


def loud(records: DataFrame) -> DataFrame:
    """Records whose text is made upper case; nothing is left of those that are silent."""
    return records.where("value <> ''").selectExpr("topic", "key", "upper(value) AS value")


def reluctant(records: DataFrame) -> DataFrame:
    """The records as they are, at its third try in a task's session; the first one takes 4.5 s."""
    session = vars(records.sparkSession)
    session["tries"] = session.get("tries", 0) + 1
    if session["tries"] == 1:
        time.sleep(4.5)
    if session["tries"] < 3:
        raise RetriableError("not in the mood")
    return records


def no_frame(records: DataFrame) -> int:
    return 7


def register(session: SparkSession) -> None:
    session.udf.register("shout", lambda text: f"{text}!", "string")
    session.udf.register("stumble", _stumble, "string")


def _stumble(text: str) -> str:
    raise ValueError(f"stumbled over {text}")
