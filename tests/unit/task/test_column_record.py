# SPDX-License-Identifier: Apache-2.0
"""Records as columns become what they would have become one by one: by generated tables and by Java's vectors."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.api.arrow_columns import column_of
from headrace.api.arrow_records import data_values, table_to_records
from headrace.api.data_column import DataColumn, data_column
from headrace.api.errors import ConfigError, ConnectError, DataError
from headrace.api.record import SourceRecord
from headrace.api.schema import Schema
from headrace.api.transform import Predicate, Transformation
from headrace.config.connector_config import ConnectorConfig, ErrorHandling
from headrace.converters.string_converter import StringConverter
from headrace.plugins.discovery import Plugins
from headrace.task.column_record import ColumnRecord, column_record
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance
from headrace.task.record_converter import create_record_converter
from headrace.task.source.source_batch import SourceBatch, SourceBatches
from headrace.task.task_converters import TaskConverters
from headrace.task.task_metrics import TaskMetrics
from headrace.task.topic_batch import TopicBatch
from headrace.task.transformation_chain import create_transformation_chain
from headrace.transforms.hoist_field import HoistFieldValue
from headrace.transforms.predicates import TopicNameMatches
from tests.tiers import examples
from tests.unit.converters.test_json_columns import LEAVES, TYPES, nullable, struct
from tests.unit.converters.test_vectors import configured
from tests.unit.record_vectors import record_of, same_record
from tests.vectors.reader import NotInPython, load, same, schema_of, value_of

HERE = __name__
ROWS = 3
Reported = list[tuple[Any, str, str]]


class Batches:
    """A source task's batches, and the failures that were reported."""

    def __init__(self, config: Mapping[str, str], tolerates: bool) -> None:
        self.reported: Reported = []
        metrics = TaskMetrics(lambda _: None, lambda: 0.0)
        self.steps = metrics.steps
        errors = RetryWithTolerance(ErrorHandling(tolerates=tolerates), [self], metrics, lambda _: False)
        connector = ConnectorConfig({"name": "c", "connector.class": "FileStreamSource", **config})
        self.chain = create_transformation_chain(connector, Plugins(), errors)
        self.converter = create_record_converter(TaskConverters(config, {}, Plugins()), errors)
        self.batches = SourceBatches("c", self.chain, self.converter, remember=False)

    def report(self, context: Any) -> None:
        place = (context.original.source_partition, context.original.source_offset, context.original.topic)
        self.reported.append((place, str(context.operation), f"{type(context.error).__name__}: {context.error}"))

    def outcome(self, polled: Any) -> Any:
        """What becomes of a batch, comparable; the error, if it fails the task."""
        try:
            batch = self.batches.convert(polled)
        except ConnectError as error:
            return type(error), str(error), self.reported
        columns = [self._columns(each) for each in batch.topic_batches]
        return columns, _offsets(batch), batch.size, self.reported, self.steps.counts()

    def _columns(self, batch: TopicBatch) -> tuple[Any, ...]:
        origins = [] if batch.origins is None else [each.source_offset for each in batch.origins]
        optional = batch.keys, batch.partitions, batch.timestamps, batch.headers
        columns = [column or [None] * len(batch.values) for column in optional]
        return batch.topic, batch.values, columns, batch.sources, origins


def _offsets(batch: SourceBatch) -> list[tuple[bytes, bytes | None]]:
    return [(key, offset.value) for key, offset in batch.offsets.items()]


class Shout(Transformation[Any]):
    """Looks at values, and takes no others than text."""

    def apply(self, record: Any) -> Any:
        return record.with_value(Schema.STRING, record.value.upper())


class Kept(Transformation[Any]):
    """Is not columnwise, and changes nothing."""

    def apply(self, record: Any) -> Any:
        return record


class Copied(Transformation[Any]):
    """A user's own, by columns."""

    columnwise: ClassVar[bool] = True

    def apply(self, record: Any) -> Any:
        return record.with_key(record.value_schema, record.value).replace(timestamp=5, kafka_partition=1)


class Hidden(HoistFieldValue[Any]):
    """Overrides what the built-in class says to be columnwise."""

    def apply_to(self, record: Any, schema: Any, value: Any) -> Any:
        return Schema.STRING, str(value)


class Loud(StringConverter):
    """Converts single values otherwise than the columns that it inherits."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        text = super().from_connect_data(topic, schema, value)
        return None if text is None else text.upper()


STEPS: list[dict[str, str]] = [
    {"type": "HoistField$Value", "field": "line"},
    {"type": "HoistField$Key", "field": "k"},
    {"type": "InsertField$Value", "static.field": "origin", "static.value": 'be"nch'},
    {"type": "InsertField$Value", "topic.field": "t!", "partition.field": "p", "timestamp.field": "ts"},
    {"type": "InsertField$Value", "partition.field": "p2!", "timestamp.field": "ts2!"},
    {"type": "InsertField$Value", "offset.field": "o"},
    {"type": "RegexRouter", "regex": "(.).*", "replacement": "$1-x"},
    {"type": "ReplaceField$Value", "exclude": "f0", "renames": "line:text,f2:g"},
    {"type": "ReplaceField$Value", "include": "f1,line"},
    {"type": "MaskField$Value", "fields": "f0,line,origin"},
    {"type": "MaskField$Value", "fields": "f0,f1", "replacement": "7"},
    {"type": "ExtractField$Value", "field": "f0"},
    {"type": "ExtractField$Value", "field": "line.f1", "field.syntax.version": "V2"},
    {"type": "ExtractField$Key", "field": "f0"},
    {"type": "ValueToKey", "fields": "line"},
    {"type": "ValueToKey", "fields": "f0,f2"},
    {"type": "SetSchemaMetadata$Value", "schema.name": "made", "schema.version": "3"},
    {"type": "Flatten$Value", "delimiter": "_"},
    {"type": "Flatten$Key"},
    {"type": "Filter"},
    {"type": "DropHeaders", "headers": "h"},
    {"type": "InsertHeader", "header": "h", "value.literal": "7"},
    {"type": "HeaderFrom$Value", "fields": "f0", "headers": "h0", "operation": "copy"},
    {"type": "HeaderFrom$Value", "fields": "line,f2", "headers": "h,h2", "operation": "move"},
    {"type": "Cast$Value", "spec": "f0:string,f2:int8"},
    {"type": "Cast$Value", "spec": "f0:float32,f2:int64,ts:int64"},
    {"type": "Cast$Value", "spec": "string"},
    {"type": "Cast$Value", "spec": "int32"},
    {"type": "TimestampConverter$Value", "field": "f0", "target.type": "unix"},
    {"type": "TimestampConverter$Value", "field": "f0", "target.type": "Time"},
    {"type": "TimestampConverter$Value", "target.type": "string", "format": "yyyy-MM-dd"},
    {"type": "TimestampConverter$Value", "target.type": "Timestamp"},
    {"type": "TimestampRouter"},
    {"type": f"{HERE}.Shout"},
    {"type": f"{HERE}.Copied"},
    {"type": f"{HERE}.Hidden", "field": "x"},
]
PREDICATES = {
    "named": {"type": "TopicNameMatches", "pattern": "t.*"},
    "routed": {"type": "TopicNameMatches", "pattern": ".-x"},
    "gone": {"type": "RecordIsTombstone"},
    "has": {"type": "HasHeaderKey", "name": "h"},
}
CONVERTERS: list[dict[str, str]] = [
    {"value.converter": "JsonConverter", "key.converter": "JsonConverter"},
    {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false", "key.converter": "StringConverter"},
    {"value.converter": "StringConverter", "key.converter": "StringConverter"},
    {"value.converter": "ByteArrayConverter", "key.converter": "JsonConverter"},
    {"value.converter": "org.apache.kafka.connect.converters.LongConverter", "key.converter": "JsonConverter"},
]


@st.composite
def chains(draw: st.DrawFn) -> dict[str, str]:
    config = {"transforms": "", "predicates": ",".join(PREDICATES)}
    for name, predicate in PREDICATES.items():
        config |= {f"predicates.{name}.{key}": value for key, value in predicate.items()}
    aliases = []
    for number, step in enumerate(draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))):
        aliases.append(f"s{number}")
        config |= {f"transforms.s{number}.{key}": value for key, value in step.items()}
        predicate = draw(st.none() | st.sampled_from(list(PREDICATES)))
        if step["type"] == "Filter" and predicate is None:
            predicate = "routed"
        if predicate is not None:
            negate = str(draw(st.booleans())).lower()
            config |= {f"transforms.s{number}.predicate": predicate, f"transforms.s{number}.negate": negate}
    return {**config, "transforms": ",".join(aliases), **draw(st.sampled_from(CONVERTERS))}


STRUCTS = st.lists(st.tuples(st.sampled_from(LEAVES), st.booleans()), min_size=2, max_size=3).map(struct)
KINDS = st.just(LEAVES[6]) | STRUCTS | TYPES


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 4))

    def column(name: str, kinds: Any, null: st.SearchStrategy[bool]) -> pa.ChunkedArray:
        kind, values = draw(kinds)
        made = pa.array(draw(st.lists(nullable(values) if draw(null) else values, min_size=rows, max_size=rows)), kind)
        cut = draw(st.integers(0, rows))
        return pa.chunked_array([made.slice(0, cut), made.slice(cut)], kind)

    rarely = st.integers(0, 5).map(lambda drawn: drawn == 0)
    topics = draw(st.sampled_from([["t"] * rows, ["t", "u", "t", "u"][:rows]]))
    columns: dict[str, Any] = {
        "topic": pa.array(topics, pa.string()),
        "value": column("value", KINDS, rarely),
        "source_partition": pa.array([{"p": n % 2} for n in range(rows)]),
        "source_offset": pa.array([{"n": n} for n in range(rows)]),
    }
    if draw(st.booleans()):
        columns["key"] = column("key", KINDS, rarely)
    if draw(st.booleans()):
        columns["partition"] = column("partition", st.just((pa.int32(), st.integers(0, 3))), st.booleans())
    if draw(st.booleans()):
        columns["timestamp"] = column("timestamp", st.just((pa.int64(), st.integers(0, 2**41))), st.booleans())
    return pa.table(columns)


@settings(max_examples=examples(1500), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables(), chains(), st.booleans())
def test_a_table_becomes_what_its_records_would(table: pa.Table, config: dict[str, str], tolerates: bool) -> None:
    by_record = Batches(config, tolerates).outcome(table_to_records(table))
    by_column = Batches(config, tolerates).outcome(table)
    assert by_column == by_record


LINES = pa.table({"topic": ["t"] * 3, "value": ["a", 'b"', "c\n"]})
INSERTED = {"header": "j", "value.literal": "x"}
GAPS = pa.table({"topic": ["t"] * 3, "value": [{"a": "x", "n": 1}, {"a": None, "n": 2}, {"a": 'y"', "n": None}]})
PLACED = GAPS.append_column("partition", pa.array([0, None, 2], pa.int32()))
TIMED = pa.table({"topic": ["t"] * 3, "value": [1, 2, 86_400_001], "timestamp": [86_400_000, 86_460_000, 90_000_000]})
FLAGS = pa.table({"topic": ["t"], "value": pa.array([{"b": None}], pa.struct([("b", pa.bool_())]))})
MIXED = pa.table({"topic": ["t", "u", "t"], "value": ["1", "2", "3"]})


@pytest.mark.parametrize("tolerates", [False, True])
@pytest.mark.parametrize(
    ("table", "steps"),
    [
        # A predicate that is true for some records.
        (GAPS, [("ExtractField$Value", {"field": "a"}), ("Filter", {"predicate": "gone"})]),
        (GAPS, [("ExtractField$Value", {"field": "a"}), ("InsertField$Value", {"topic.field": "t"})]),
        # The stage behind the one that leaves the gap is the one that fails.
        (PLACED, [("InsertField$Value", {"partition.field": "p!"}), ("ReplaceField$Value", {"renames": "a:b"})]),
        (PLACED, [("InsertField$Value", {"partition.field": "p!"}), ("HoistField$Value", {"field": "h"})]),
        (GAPS, [("InsertField$Value", {"timestamp.field": "ts!"}), ("Flatten$Value", {})]),
        (GAPS, [("MaskField$Value", {"fields": "a,n"}), ("HoistField$Value", {"field": "h"})]),
        (
            GAPS,
            [("ValueToKey", {"fields": "a"}), ("ExtractField$Key", {"field": "a"}), ("Filter", {"predicate": "gone"})],
        ),
        (PLACED, [("Cast$Value", {"spec": "a:string,n:float64"}), ("InsertField$Value", {"partition.field": "p"})]),
        (GAPS, [("Cast$Value", {"spec": "a:int8"})]),
        # Refused even for null.
        (FLAGS, [("TimestampConverter$Value", {"field": "b", "target.type": "unix"})]),
        (TIMED, [("TimestampRouter", {}), ("TimestampConverter$Value", {"target.type": "Time"})]),
        (TIMED, [("TimestampRouter", {"timestamp.format": "HH:mm"})]),
        (
            GAPS,
            [
                ("HeaderFrom$Value", {"fields": "a,n", "headers": "h,i", "operation": "move"}),
                ("InsertHeader", INSERTED),
            ],
        ),
        (GAPS, [("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "copy"}), (f"{HERE}.Kept", {})]),
        (MIXED, [("RegexRouter", {"regex": ".", "replacement": "v"})]),
        (LINES, [("HoistField$Value", {"field": "a"}), (f"{HERE}.Shout", {}), ("HoistField$Value", {"field": "b"})]),
    ],
)
def test_what_differs_among_records(table: pa.Table, steps: list[tuple[str, dict[str, str]]], tolerates: bool) -> None:
    config = {"transforms": ",".join(f"s{n}" for n in range(len(steps))), "predicates": "gone", **CONVERTERS[0]}
    config["predicates.gone.type"] = "RecordIsTombstone"
    for number, (type_, properties) in enumerate(steps):
        config |= {f"transforms.s{number}.{key}": value for key, value in {"type": type_, **properties}.items()}
    by_record = Batches(config, tolerates).outcome(table_to_records(table))
    assert Batches(config, tolerates).outcome(table) == by_record


CHAIN = {
    "transforms": "h,i,r",
    **{"transforms.h.type": "HoistField$Value", "transforms.h.field": "line"},
    **{"transforms.i.type": "InsertField$Value", "transforms.i.static.field": "o", "transforms.i.static.value": "x"},
    **{"transforms.r.type": "RegexRouter", "transforms.r.regex": "t", "transforms.r.replacement": "u"},
    **{"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"},
}


def forbid_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def called(*_: Any) -> Any:
        raise AssertionError("records were made")

    monkeypatch.setattr(ColumnRecord, "records", called)
    monkeypatch.setattr("headrace.api.arrow_records.table_to_records", called)


def test_no_record_is_made_where_every_step_is_columnwise(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_records(monkeypatch)
    [batch] = Batches(CHAIN, False).batches.convert(LINES).topic_batches
    assert batch.topic == "u"
    assert batch.values == [b'{"line":"a","o":"x"}', b'{"line":"b\\"","o":"x"}', b'{"line":"c\\n","o":"x"}']


def test_a_users_own_step_may_be_columnwise(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_records(monkeypatch)
    config = {"transforms": "c", "transforms.c.type": f"{HERE}.Copied", "value.converter": "StringConverter"}
    [batch] = Batches(config | {"key.converter": "StringConverter"}, False).batches.convert(LINES).topic_batches
    assert (batch.values, batch.keys) == ([b"a", b'b"', b"c\n"],) * 2
    assert (batch.timestamps, batch.partitions) == ([5] * 3, [1] * 3)


def test_a_batch_that_is_dropped_keeps_its_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_records(monkeypatch)
    config = {"transforms": "f", "transforms.f.type": "Filter", "value.converter": "StringConverter"}
    table = LINES.append_column("source_partition", [[{"p": 1}] * 3])
    batch = Batches(config, False).batches.convert(table.append_column("source_offset", [[{"n": n} for n in range(3)]]))
    assert (batch.topic_batches, batch.size, [each.offset for each in batch.offsets.values()]) == ((), 0, [{"n": 2}])


class Cut(Transformation[Any]):
    """Breaks the contract: two values for all records."""

    columnwise: ClassVar[bool] = True

    def apply(self, record: Any) -> Any:
        if not isinstance(record.value, DataColumn):
            return record
        return record.with_value(record.value_schema, DataColumn(record.value_schema, record.value.values[:2]))


def test_a_column_that_is_cut_loses_no_record() -> None:
    config = {"transforms": "c", "transforms.c.type": f"{HERE}.Cut", "value.converter": "StringConverter"}
    with pytest.raises(DataError, match="2 records were made of a table's 3: a transformation cut a column"):
        Batches(config, True).batches.convert(LINES)


class Odd(Predicate[Any]):
    def test(self, record: Any) -> bool:
        return False


class Overridden(TopicNameMatches[Any]):
    def test(self, record: Any) -> bool:
        return False


@pytest.mark.parametrize("chain", [{}, {"transforms": "r", **{k: v for k, v in CHAIN.items() if ".r." in k}}])
def test_a_derived_converter_gets_single_values(chain: dict[str, str]) -> None:
    config = {**chain, "value.converter": f"{HERE}.Loud", "key.converter": "StringConverter"}
    [batch] = Batches(config, False).batches.convert(LINES).topic_batches
    assert batch.values == [b"A", b'B"', b"C\n"]


@pytest.mark.parametrize(
    ("type_", "predicate", "stages"),
    [
        ("HoistField$Value", None, 1),
        (f"{HERE}.Hidden", None, 0),
        (f"{HERE}.Shout", None, 0),
        ("HoistField$Value", "TopicNameMatches", 1),
        ("HoistField$Value", f"{HERE}.Overridden", 0),
        ("HoistField$Value", f"{HERE}.Odd", 0),
    ],
)
def test_only_who_has_the_method_says_that_it_is_columnwise(type_: str, predicate: str | None, stages: int) -> None:
    config = {"transforms": "a", "transforms.a.type": type_, "transforms.a.field": "f", **CONVERTERS[2]}
    if predicate is not None:
        config |= {"transforms.a.predicate": "p", "predicates": "p"}
        config |= {"predicates.p.type": predicate, "predicates.p.pattern": "t"}
    columns = column_record(LINES)
    assert columns is not None
    assert Batches(config, False).chain.apply_columnwise(columns.record, columns.rows)[1] == stages


def columns_of(record: SourceRecord) -> ColumnRecord:
    """Return ``ROWS`` times that record. NotInPython where no column can have its data."""
    parts = [_column(record.key_schema, record.key), _column(record.value_schema, record.value)]
    if parts[1] is None:
        raise NotInPython("no value")
    place = {"source_partition": [record.source_partition] * ROWS, "source_offset": [record.source_offset] * ROWS}
    table = pa.table({"topic": [record.topic] * ROWS, "value": [""] * ROWS, **place})
    return ColumnRecord(table, record.replace(key=parts[0], value=parts[1]))


def _column(schema: Schema | None, data: Any) -> Any:
    if schema is None and data is None:
        return None
    if schema is None or data is None:
        raise NotInPython("data without a schema, or a null with one")
    try:
        column = column_of(schema, [data] * ROWS, "part")
        if same(schema, data, data_values(schema, column)[0]):
            return data_column(schema, column)
    except DataError as error:
        raise NotInPython(str(error)) from error
    raise NotInPython("data that a column changes")


def test_java_transformations_by_columns() -> None:
    """By columns the record of each vector becomes the same, or is left to rows; always if it fails."""
    applied = 0
    for vector in (each.values[0] for each in load("transforms", op="transform")):
        given: Sequence[Any] = vector["input"].get("records") or [vector["input"]["record"]]
        name = {"transforms": "a", "transforms.a.type": vector["class"], **CONVERTERS[0]}
        try:
            config = {f"transforms.a.{key}": value for key, value in vector["config"].items()}
            stages = Batches(name | config, False).chain
            polled = [record_of(each) for each in given if each["kind"] == "source"]
            for columns, record in [(columns_of(each), each) for each in polled if isinstance(each, SourceRecord)]:
                applied += _compare(stages, columns, record, vector)
        except (NotInPython, ConfigError):
            continue
    assert applied >= 60, applied


def _compare(stages: Any, columns: ColumnRecord, record: SourceRecord, vector: dict[str, Any]) -> bool:
    made, count = stages.apply_columnwise(columns.record, columns.rows)
    try:
        expected = [stages.stages[0].apply(each) for each in columns.records()]
    except ConnectError:
        assert count == 0, vector["id"]
        return False
    if count:
        found = [None] * ROWS if made is None else columns.with_record(made).records()
        assert found == expected, vector["id"]
        if columns.records()[0] == record and isinstance(vector["output"], dict | None):
            assert all(same_record(vector["output"], one) for one in found), vector["id"]
    return bool(count)


def test_java_conversions_by_columns() -> None:
    """Columns of each vector's data become its bytes, or are left to rows."""
    converted = 0
    vectors = [*load("converters", op="fromConnectData"), *load("json_converter", op="fromConnectData")]
    for vector in (each.values[0] for each in vectors if "output" in each.values[0]):
        source, expected = vector["input"], vector["output"] and base64.b64decode(vector["output"]["$bytes"])
        try:
            schema = schema_of(source["schema"])
            value = value_of(schema, source["value"])
            column = column_of(schema or Schema.OPTIONAL_STRING, [value] * ROWS, "value")
        except (ConnectError, NotInPython):
            continue
        if schema is None or not same(schema, value, data_values(schema, column)[0]):
            continue
        found = configured(vector).from_arrow_with_schema("t", schema, column)
        assert found in (None, [expected] * ROWS), vector["id"]
        converted += found is not None
    assert converted >= 30, converted
