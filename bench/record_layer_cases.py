# SPDX-License-Identifier: Apache-2.0
"""What the record layer's benchmark measures: converters, transformations, and the path of a batch without a broker."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bench.record_layer_chain import LINE_CHAIN
from headrace.api import arrow
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema, Struct
from headrace.api.schema_builder import SchemaBuilder
from headrace.config.connector_config import ConnectorConfig, ErrorHandling
from headrace.converters.json_converter import JsonConverter
from headrace.plugins.discovery import Plugins
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.record_converter import create_record_converter
from headrace.task.source.source_batch import SourceBatches
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.transformation_chain import TransformationChain, create_transformation_chain

Work = Callable[[], object]
_PARTITION = {"filename": "lines.txt"}
_ORDER = (
    SchemaBuilder.struct()
    .name("order")
    .field("id", Schema.INT64)
    .field("item", Schema.STRING)
    .field("price", Schema.FLOAT64)
    .field("paid", Schema.BOOLEAN)
    .field("note", Schema.OPTIONAL_STRING)
    .build()
)
_ADDRESS = SchemaBuilder.struct().field("city", Schema.STRING).field("zip", Schema.INT32).build()
_CUSTOMER = (
    SchemaBuilder.struct()
    .name("customer")
    .field("id", Schema.INT64)
    .field("address", _ADDRESS)
    .field("seen", Schema.TIMESTAMP)
    .build()
)
_MAP_CHAIN = {
    "transforms": "insert,rename,mask",
    "transforms.insert.type": "InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
    "transforms.rename.type": "ReplaceField$Value",
    "transforms.rename.renames": "item:article",
    "transforms.rename.exclude": "paid",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "note",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One figure. `prepare(n)` makes the work on n records, which is then done again and again."""

    key: str
    label: str
    prepare: Callable[[int], Work]
    target: float | None = None


def orders(count: int) -> list[Struct]:
    """Structs of five fields, one of them absent every third time."""
    return [
        Struct(
            _ORDER,
            {
                "id": number * 1_000_003,
                "item": f"item number {number}",
                "price": number * 1.37,
                "paid": number % 2 == 0,
                "note": f"a note about {number}" if number % 3 else None,
            },
        )
        for number in range(count)
    ]


def customers(count: int) -> list[Struct]:
    """Structs with a struct and a timestamp within."""
    seen = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    return [
        Struct(_CUSTOMER, {"id": n, "address": Struct(_ADDRESS, {"city": f"city {n}", "zip": n}), "seen": seen})
        for n in range(count)
    ]


def line_table(count: int, length: int = 99) -> pa.Table:
    """Lines of text as FileStreamSource polls them."""
    lines = [f"{number:010d} ".ljust(length, "x") for number in range(count)]
    positions = pa.array([(number + 1) * (length + 1) for number in range(count)])
    return pa.table(
        {
            arrow.TOPIC: arrow.constant("lines", count, pa.string()),
            arrow.SOURCE_PARTITION: arrow.constant(_PARTITION, count, pa.struct([("filename", pa.string())])),
            arrow.SOURCE_OFFSET: pa.StructArray.from_arrays([positions], ["position"]),
            arrow.VALUE: pa.array(lines),
        }
    )


def line_batches() -> SourceBatches:
    """What makes batches of lines in a task with `LINE_CHAIN`."""
    plugins, errors = Plugins(), _errors()
    chain = create_transformation_chain(_connector(LINE_CHAIN), plugins, errors)
    converters = TaskConverters(LINE_CHAIN, {"key.converter": "StringConverter"}, plugins)
    converter = create_record_converter(converters, errors)
    return SourceBatches("bench", chain, converter, remember=False)


def _write(enabled: bool, schema: Schema | None, values: Callable[[int], Sequence[Any]]) -> Callable[[int], Work]:
    def prepare(count: int) -> Work:
        convert = _json(enabled).from_connect_data
        data = values(count)

        def work() -> None:
            for value in data:
                convert("t", schema, value)

        return work

    return prepare


def _read(enabled: bool) -> Callable[[int], Work]:
    def prepare(count: int) -> Work:
        converter = _json(enabled)
        data = [converter.from_connect_data("t", _ORDER, order) for order in orders(count)]

        def work() -> None:
            for text in data:
                converter.to_connect_data("t", text)

        return work

    return prepare


def _chain(
    properties: Mapping[str, str], schema: Schema | None, values: Callable[[int], Sequence[Any]]
) -> Callable[[int], Work]:
    def prepare(count: int) -> Work:
        chain: TransformationChain[SourceRecord, SourceRecord]
        chain = create_transformation_chain(_connector(properties), Plugins(), _errors())
        records = [
            SourceRecord(_PARTITION, {"position": number}, "orders", value_schema=schema, value=value)
            for number, value in enumerate(values(count))
        ]
        return lambda: chain.apply_all(records, records)

    return prepare


def _one(type_: str, **properties: str) -> dict[str, str]:
    configured = {f"transforms.one.{name.replace('_', '.')}": value for name, value in properties.items()}
    return {"transforms": "one", "transforms.one.type": type_, **configured}


def _path(count: int) -> Work:
    batches, table = line_batches(), line_table(count)
    return lambda: batches.convert(table)


def _dicts(count: int) -> list[dict[str, Any]]:
    return [order.as_dict() for order in orders(count)]


def _json(enabled: bool) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({"schemas.enable": str(enabled).lower()})
    return converter


def _connector(properties: Mapping[str, str]) -> ConnectorConfig:
    return ConnectorConfig({"name": "bench", "connector.class": "FileStreamSource", **properties})


def _errors() -> RetryWithTolerance[SourceRecord]:
    return RetryWithTolerance(ErrorHandling(), (), TaskMetrics(lambda _: None, lambda: 0.0), lambda _: False)


CASES = (
    Case("json_write", "JsonConverter writes: schemas", _write(True, _ORDER, orders), 300_000),
    Case("json_write_plain", "  no envelope", _write(False, _ORDER, orders)),
    Case("json_write_schemaless", "  schemaless", _write(False, None, _dicts)),
    Case("json_read", "JsonConverter reads: schemas", _read(True)),
    Case("json_read_schemaless", "  schemaless", _read(False)),
    Case("chain", "Insert-, Replace-, MaskField", _chain(_MAP_CHAIN, None, _dicts), 250_000),
    Case("chain_structs", "  on structs", _chain(_MAP_CHAIN, _ORDER, orders)),
    Case(
        "regex_router",
        "RegexRouter",
        _chain(_one("RegexRouter", regex="(.*)", replacement="shop-$1"), _ORDER, orders),
        1_000_000,
    ),
    Case("cast", "Cast, structs", _chain(_one("Cast$Value", spec="id:string,price:float32"), _ORDER, orders)),
    Case("flatten", "Flatten, structs", _chain(_one("Flatten$Value"), _CUSTOMER, customers)),
    Case(
        "timestamp_converter",
        "TimestampConverter, structs",
        _chain(_one("TimestampConverter$Value", field="seen", target_type="unix"), _CUSTOMER, customers),
    ),
    Case("line_path", "lines, chain of four, JSON", _path, 500_000),
)
