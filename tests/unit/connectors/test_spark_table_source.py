# SPDX-License-Identifier: Apache-2.0
"""The whole task over a database in memory, which is asked the very SQL that others would be."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api import arrow
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.frames import FrameJob
from headrace.api.source import ExactlyOnceSupport
from headrace.connectors.common.spark_source import SPLITS, RetryTimeout
from headrace.connectors.spark_table import spark_table_source, split_reader
from headrace.connectors.spark_table.spark_table_config import CONFIG_DEF, Split, TableSettings, find_conflicts
from headrace.connectors.spark_table.spark_table_source import SparkTableSourceConnector, SparkTableSourceTask
from headrace.connectors.spark_table.table_queries import TableQueries
from tests.tiers import examples

BASE = {
    "name": "c",
    "topic": "rows",
    "spark.format": "jdbc",
    "spark.option.url": "jdbc:sqlite::memory:",
    "table": "t",
    "mode": "timestamp+incrementing",
    "timestamp.column": "changed",
    "incrementing.column": "id",
    "poll.interval.ms": "1",
}
INCREMENTING = {**BASE, "mode": "incrementing", "timestamp.column": None}
TIMESTAMP = {**BASE, "mode": "timestamp", "incrementing.column": None}
BULK = {**BASE, "mode": "bulk", "incrementing.column": None, "timestamp.column": None}


def props(base: Mapping[str, Any], **more: Any) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {name: value for name, value in {**base, **named}.items() if value is not None}


class Database:
    """`Frames` whose jobs ask a table of `id`, `changed` and `region`, and bring so many rows at a time."""

    def __init__(self, rows: list[tuple[int | None, int | None, str | None]], at_once: int = 3) -> None:
        self._at_once = at_once
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.execute("CREATE TABLE t (id INTEGER, changed TEXT, region TEXT)")
        self.asked: list[str] = []
        self.errors: list[ConnectError] = []
        self.insert(rows)

    def insert(self, rows: list[tuple[int | None, int | None, str | None]]) -> None:
        texts = [
            (id, None if moment is None else f"2026-01-01 00:{moment // 60:02}:{moment % 60:02}.000000", at)
            for id, moment, at in rows
        ]
        self._connection.executemany("INSERT INTO t VALUES (?, ?, ?)", texts)

    def update(self, region: str, row: tuple[int, int, str]) -> None:
        """Replace the row of a region."""
        self._connection.execute("DELETE FROM t WHERE region = ?", (region,))
        self.insert([row])

    def run(self, job: FrameJob, table: pa.Table | None = None) -> pa.Table:
        self._fail()
        types = {"id": "long", "changed": "timestamp_ntz", "region": "string"}
        schema = json.dumps({"fields": [{"name": name, "type": type} for name, type in types.items()]})
        return pa.table({"schema": [schema]})

    @contextmanager
    def stream(self, job: FrameJob) -> Iterator[Iterator[pa.RecordBatch]]:
        yield self._batches(job)

    def _batches(self, job: FrameJob) -> Iterator[pa.RecordBatch]:
        asked = job.settings["table"]
        self.asked.append(asked)
        cursor = self._connection.execute(f"SELECT id, changed, region FROM {asked}")
        while found := cursor.fetchmany(self._at_once):
            self._fail()
            ids, moments, regions = zip(*found, strict=True)
            changed = [None if moment is None else datetime.fromisoformat(moment) for moment in moments]
            yield pa.RecordBatch.from_pydict(
                {"id": ids, "changed": pa.array(changed, pa.timestamp("us")), "region": pa.array(regions, pa.string())}
            )
        self._fail()

    def _fail(self) -> None:
        if self.errors:
            raise self.errors.pop()


class Transactions:
    def __init__(self) -> None:
        self.ended: list[str] = []

    def commit_transaction(self, record: Any = None) -> None:
        self.ended.append("commit")

    def abort_transaction(self, record: Any = None) -> None:
        self.ended.append("abort")


class Context:
    """What a task is given; each attempt at it has its own."""

    def __init__(self, database: Database, stored: dict[str, Any], transactions: Transactions | None = None) -> None:
        self.frames = database
        self.transaction_context = transactions
        self.offset_storage_reader = self
        self._stored = stored

    def offsets(self, partitions: list[dict[str, Any]]) -> list[Any]:
        return [self._stored.get(json.dumps(partition)) for partition in partitions]


Started = Callable[..., SparkTableSourceTask]


def started(
    database: Database,
    config: dict[str, str],
    stored: dict[str, Any] | None = None,
    transactions: Transactions | None = None,
) -> SparkTableSourceTask:
    task = SparkTableSourceTask()
    task.initialize(Context(database, stored or {}, transactions))  # type: ignore[arg-type]
    connector = SparkTableSourceConnector()
    connector.start(config)
    (own,) = connector.task_configs(1)
    task.start(own)
    return task


def polled(task: SparkTableSourceTask, stored: dict[str, Any], polls: int = 20) -> list[Any]:
    """The values of some polls, each of which is committed."""
    values = []
    for _ in range(polls):
        table = task.poll()
        if table is not None:
            arrow.validate_table(table)
            values += table.column("value").to_pylist()
            for partition, offset in arrow.last_offsets(table):
                stored[json.dumps(partition)] = offset
    return values


ROWS = [(1, 5, "eu"), (2, 5, "us"), (3, 7, "eu"), (4, 6, None)]


def test_rows_come_once_in_order_with_what_comes_to_them() -> None:
    database, stored = Database(ROWS), {}
    task = started(database, props(BASE), stored)
    assert [row["id"] for row in polled(task, stored)] == [1, 2, 4, 3]
    assert stored == {'{"table": "t"}': {"timestamp": "2026-01-01T00:00:07.000000", "incrementing": 3}}
    database.insert([(5, 7, "eu"), (2, 8, "us"), (9, 1, "late")])
    assert [row["id"] for row in polled(task, stored)] == [5, 2]
    assert polled(started(database, props(BASE), stored), stored) == []


def test_rows_with_a_null_where_rows_grow_are_not_read_and_negative_and_huge_numbers_are() -> None:
    huge = 2**63 - 1
    rows = [(None, 1, "a"), (-huge, 1, "b"), (huge, 1, "c"), (4, None, "d"), (0, 2, "e")]
    for mode, expected in ((BASE, "bce"), (INCREMENTING, "bedc"), (TIMESTAMP, "abce")):
        database, stored = Database(rows), {}
        read = polled(started(database, props(mode, query_max_rows="2", batch_max_rows="1"), stored), stored)
        assert [row["region"] for row in read] == list(expected)
        assert polled(started(database, props(mode), stored), stored) == []


def test_the_database_is_asked_for_no_more_than_is_new() -> None:
    database, stored = Database(ROWS), {}
    polled(started(database, props(INCREMENTING, where="region <> 'us'", query_max_rows="100"), stored), stored, 4)
    assert database.asked[0] == (
        """(SELECT * FROM t WHERE "id" IS NOT NULL AND (region <> 'us') ORDER BY "id" LIMIT 100) headrace_page"""
    )
    assert database.asked[1].startswith('(SELECT * FROM t WHERE "id" > 3 AND ')


def test_options_have_defaults_that_a_user_has_the_last_word_on() -> None:
    config = props(BASE, spark_option_FetchSize="7") | {"spark.option.url": "jdbc:postgresql://h/d"}
    options = json.loads(TableQueries(TableSettings.of(config)).describe().settings["options"])
    assert options == {
        "FetchSize": "7",
        "preferTimestampNTZ": "true",
        "driver": "org.postgresql.Driver",
        "url": "jdbc:postgresql://h/d",
    }


def test_a_query_stands_for_a_table() -> None:
    database, stored = Database(ROWS), {}
    config = props(INCREMENTING, table=None, query="SELECT id, changed, region FROM t WHERE id > 2")
    assert [row["id"] for row in polled(started(database, config, stored), stored)] == [3, 4]


@pytest.mark.parametrize("rows", [[(1, 5, "a")] * 5, [(1, 5, "a"), *[(2, 6, "b")] * 7, (3, 7, "c")]])
def test_rows_of_one_timestamp_are_not_parted_however_small_the_limits_are(rows: list[Any]) -> None:
    database, stored = Database(rows), {}
    task = started(database, props(TIMESTAMP, query_max_rows="2", batch_max_rows="1"), stored)
    assert [row["id"] for row in polled(task, stored)] == [id for id, _, _ in rows]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 6), st.sampled_from(["eu", "us"])), max_size=25),
    st.sampled_from([BASE, INCREMENTING, TIMESTAMP]),
    st.integers(2, 9),
    st.integers(1, 7),
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
)
def test_whatever_the_rows_and_limits_and_deaths_each_row_comes_once(
    rows: list[Any], mode: dict[str, Any], query_rows: int, batch_rows: int, lives: list[int]
) -> None:
    database = Database(rows)
    stored: dict[str, Any] = {}
    config = props(mode, query_max_rows=str(query_rows), batch_max_rows=str(batch_rows), partition_column="id")
    config["partition.count"] = "2"
    seen = []
    for polls in lives:  # each ends without a word
        seen += polled(started(database, config, stored), stored, polls)
    seen += polled(started(database, config, stored), stored, 60)
    assert sorted((row["id"], row["changed"].second, row["region"]) for row in seen) == sorted(rows)


class Clock:
    """The time module of the reader and of its task; seconds of 2026."""

    def __init__(self) -> None:
        self.now = 10

    def time(self) -> float:
        return 1_767_225_600.0 + self.now

    def time_ns(self) -> int:
        return int(self.time()) * 1_000_000_000

    def monotonic(self) -> float:
        return self.time()


@settings(max_examples=examples(50), deadline=None)
@given(
    st.sampled_from([BASE, INCREMENTING, TIMESTAMP]),
    st.integers(2, 5),
    st.integers(1, 4),
    st.integers(0, 3),
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["insert", "update", "die"]),
            st.integers(1, 5),
            st.integers(0, 3),
            st.integers(0, 3),
        ),
        min_size=4,
        max_size=12,
    ),
)
def test_whatever_is_written_meanwhile_is_seen_once_if_it_is_no_later_than_the_delay(
    mode: dict[str, Any], query_rows: int, batch_rows: int, delay: int, steps: list[Any]
) -> None:
    """Queries are cut between and within rows of one position, writers write while one is open, tasks die."""
    database, stored, clock = Database([], at_once=2), {}, Clock()
    config = props(mode, query_max_rows=str(query_rows), batch_max_rows=str(batch_rows))
    config["timestamp.delay.ms"] = str(delay * 1000)
    written: dict[int, tuple[int, int, str]] = {}
    seen: list[tuple[int, int, str]] = []
    number = 0

    def write(row: int, id: int, late: int) -> None:
        # A transaction that began so long ago becomes visible now.
        written[row] = id, max(0, clock.now - min(late, delay)), f"{row} at {clock.now} for the {len(seen)}th"

    def poll(times: int) -> None:
        for row in polled(task, stored, times):
            moment = row["changed"].minute * 60 + row["changed"].second
            seen.append((row["id"], moment, row["region"]))

    with pytest.MonkeyPatch.context() as patch:
        for module in (split_reader, spark_table_source):
            patch.setattr(module, "time", clock)
        task = started(database, config, stored)
        for wait, step, count, late, polls in steps:
            clock.now += wait
            match step:
                case "insert":
                    number += 1
                    added = range(len(written), len(written) + count)
                    for row in added:
                        # A number that grows may be the same for several rows, if these appear together.
                        write(row, number if mode is INCREMENTING else 1000 - row, late)
                    database.insert([written[row] for row in added])
                case "update" if written and mode is not INCREMENTING:
                    row = count * 7 % len(written)
                    id, _, before = written[row]
                    write(row, id, late)
                    database.update(before, written[row])
                case "die":
                    task = started(database, config, stored)
            poll(polls)
        for _ in range(2):  # a query that is still open, and one that sees all
            clock.now += delay + 1
            poll(3 * len(written) + 5)
    assert len(seen) == len(set(seen))
    assert set(written.values()) <= set(seen)


def test_rows_that_are_younger_than_the_delay_wait() -> None:
    database, stored = Database(ROWS), {}
    century = 100 * 365 * 86_400_000
    assert polled(started(database, props(BASE, timestamp_delay_ms=str(century)), stored), stored) == []
    assert '"changed" < \'19' in database.asked[0]


def test_text_that_the_database_takes_for_the_same_is_not_parted() -> None:
    database, stored = Database([(1, 1, "b"), (2, 1, "B"), (3, 1, "a"), (4, 1, "A"), (5, 1, "a")]), {}
    config = props(INCREMENTING, incrementing_column="region", batch_max_rows="1", query_max_rows="2")
    config |= {"table": "(SELECT id, changed, region COLLATE NOCASE AS region FROM t)"}
    assert sorted(row["id"] for row in polled(started(database, config, stored), stored)) == [1, 2, 3, 4, 5]


def test_a_timestamp_that_is_finer_than_sparks_is_not_read_by_two_columns() -> None:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "changed", "type": "timestamp_ntz", "metadata": {"scale": 7}},
    ]
    schema = json.dumps({"fields": fields})
    with pytest.raises(ConfigError, match="its seconds have 7 digits") as raised:
        TableQueries(TableSettings.of(props(BASE))).columns(schema)
    assert raised.value.name == "timestamp.column"
    assert TableQueries(TableSettings.of(props(TIMESTAMP))).columns(schema)


def test_decimals_without_a_fraction_are_whole_numbers() -> None:
    queries = TableQueries(TableSettings.of(props(TIMESTAMP, partition_column="id", partition_count="4")))
    for type, fits in (("decimal(20,0)", True), ("decimal(20,2)", False)):
        fields = [{"name": "id", "type": type}, {"name": "changed", "type": "timestamp"}]
        if fits:
            assert queries.columns(json.dumps({"fields": fields})).split
        else:
            with pytest.raises(ConfigError, match="needs a column of whole numbers"):
                queries.columns(json.dumps({"fields": fields}))


def test_a_partition_value_that_the_column_cannot_hold_is_reported() -> None:
    queries = TableQueries(TableSettings.of(props(BASE, partition_column="id", partition_values="1,two")))
    columns = queries.columns(Database([]).run(FrameJob("", {})).column("schema")[0].as_py())
    with pytest.raises(ConfigError, match=r"'two' .*: column id holds whole numbers") as raised:
        queries.rows(columns, Split(value="two"), None, None, 5)
    assert raised.value.name == "partition.values"


def test_splits_keep_their_positions_whatever_tasks_there_are() -> None:
    connector = SparkTableSourceConnector()
    connector.start(props(BASE, partition_column="region", partition_values="eu,us,asia"))
    split = [json.loads(task[SPLITS]) for task in connector.task_configs(2)]
    assert [[each["value"] for each in task] for task in split] == [["eu", "asia"], ["us"]]
    assert len(connector.task_configs(9)) == 3
    database, stored = Database([*ROWS, (7, 9, "asia")]), {}
    config = props(BASE, partition_column="region", partition_values="eu,us,asia")
    assert sorted(row["id"] for row in polled(started(database, config, stored), stored)) == [1, 2, 3, 7]
    assert sorted(stored) == [f'{{"table": "t", "split": "region={each}"}}' for each in ("asia", "eu", "us")]


def test_a_row_whose_partition_column_is_null_is_of_the_first_remainder() -> None:
    queries = TableQueries(TableSettings.of(props(TIMESTAMP, partition_column="id", partition_count="4")))
    columns = queries.columns(Database([]).run(FrameJob("", {})).column("schema")[0].as_py())
    asked = [queries.rows(columns, Split(remainder=number), None, None, 5).settings["table"] for number in (0, 3)]
    assert '(ABS("id" % 4) = 0 OR "id" IS NULL)' in asked[0]
    assert 'AND ABS("id" % 4) = 3 ORDER BY' in asked[1]


def test_spark_is_asked_in_its_own_sql() -> None:
    config = props(BASE, spark_format="parquet", table=None, path="/data/t", where="id > 0")
    del config["spark.option.url"]
    queries = TableQueries(TableSettings.of(config))
    columns = queries.columns(Database([]).run(FrameJob("", {})).column("schema")[0].as_py())
    job = queries.rows(columns, Split(), {"timestamp": "2026-01-01T00:00:00", "incrementing": 4}, None, 5)
    assert job.settings["path"] == "/data/t"
    assert json.loads(job.settings["order"]) == ["`changed`", "`id`"]
    assert job.settings["where"] == "id > 0"
    assert "id > 0" not in json.loads(job.settings["conditions"])
    assert job.settings["limit"] == "5"


@pytest.mark.parametrize(("keys", "key"), [("", None), ("id", 1), ("id,region", {"id": 1, "region": "eu"})])
def test_keys_are_the_value_of_one_column_or_a_struct_of_several(keys: str, key: Any) -> None:
    table = started(Database(ROWS), props(BASE, key_columns=keys)).poll()
    assert table is not None
    if key is None:
        assert "key" not in table.column_names
    else:
        assert table.column("key")[0].as_py() == key


def test_bulk_reads_all_time_and_again_with_a_transaction_for_each_reading() -> None:
    database, stored, transactions = Database(ROWS), {}, Transactions()
    task = started(database, props(BULK, batch_max_rows="3", poll_interval_ms="3600000"), stored, transactions)
    assert [row["id"] for row in polled(task, stored, 1)] == [1, 2, 3]
    assert (stored, transactions.ended) == ({}, [])
    assert [row["id"] for row in polled(task, stored, 1)] == [4]
    assert transactions.ended == ["commit"]
    assert list(stored['{"table": "t"}']) == ["completed"]
    # Another attempt knows when it was read.
    again = started(database, props(BULK, poll_interval_ms="3600000"), stored)
    assert polled(again, stored, 1) == []
    assert len(database.asked) == 1


def test_a_reading_of_all_that_fails_in_the_middle_is_aborted() -> None:
    database, transactions = Database(ROWS, at_once=2), Transactions()
    task = started(database, props(BULK, batch_max_rows="1"), {}, transactions)
    assert task.poll() is not None
    database.errors.append(RetriableError("gone"))
    with pytest.raises(RetriableError):
        while True:
            task.poll()
    assert transactions.ended == ["abort"]
    assert [row["id"] for row in polled(task, {}, 4)] == [1, 2, 3, 4]


def test_what_fails_in_the_middle_goes_on_behind_what_was_polled() -> None:
    database, stored = Database(ROWS, at_once=1), {}
    task = started(database, props(BASE, batch_max_rows="1"), stored)
    assert [row["id"] for row in polled(task, stored, 2)] == [1, 2]
    database.errors.append(RetriableError("the connection broke"))
    with pytest.raises(RetriableError, match="the connection broke"):
        task.poll()
    assert [row["id"] for row in polled(task, stored)] == [4, 3]


def test_patience_ends_when_its_time_is_over() -> None:
    now = [0.0]
    timeout, error = RetryTimeout(5_000, lambda: now[0]), RetriableError("refused")
    assert timeout.error_after(error, "table t") is error
    now[0] = 4.9
    assert timeout.error_after(error, "table t") is error
    now[0] = 5.0
    reported = timeout.error_after(error, "table t")
    assert not isinstance(reported, RetriableError)
    assert str(reported) == "Tried for 5 s (retry.timeout.ms), but table t cannot be read: refused"
    timeout.reset()
    assert timeout.error_after(error, "table t") is error


@pytest.mark.parametrize(
    ("config", "property"),
    [
        (props(BASE, incrementing_column="nr"), "incrementing.column"),
        (props(BASE, timestamp_column="region"), "timestamp.column"),
        (props(BASE, key_columns="nr"), "key.columns"),
        (props(BASE, partition_column="region", partition_count="2"), "partition.column"),
    ],
)
def test_columns_that_are_not_there_or_do_not_fit_are_reported(config: dict[str, str], property: str) -> None:
    task = started(Database(ROWS), config)
    with pytest.raises(ConfigError) as raised:
        task.poll()
    assert raised.value.name == property


@pytest.mark.parametrize(
    ("config", "property"),
    [
        (props(BASE, table=None), "table"),
        (props(BASE, query="SELECT 1"), "query"),
        (props(BASE, spark_format="parquet"), None),
        (props(BASE, spark_format="parquet", path="/a"), "path"),
        (props(BASE, spark_format=None, table=None, path="/a"), "path"),
        (props(BASE, spark_option_url="postgresql://h/d"), "spark.format"),
        (props(BASE, spark_option_dbtable="t"), "spark.format"),
        (props(BASE, timestamp_column=None), "timestamp.column"),
        (props(BASE, mode="incrementing"), "timestamp.column"),
        (props(BASE, partition_count="2"), "partition.count"),
        (props(BASE, partition_column="id"), "partition.column"),
        (props(BASE, partition_column="id", partition_count="2", partition_values="1"), "partition.column"),
        (props(BASE), None),
    ],
)
def test_properties_that_do_not_go_together_are_reported(config: dict[str, str], property: str | None) -> None:
    found = find_conflicts(CONFIG_DEF.parse(config), config)
    assert [name for name, _ in found] == ([] if property is None else [property])
    connector = SparkTableSourceConnector()
    wrong = [value.name for value in connector.validate(config) if value.error_messages]
    assert wrong == [name for name, _ in found]


def test_bulk_is_exactly_once_only_with_transactions_of_its_own() -> None:
    connector = SparkTableSourceConnector()
    assert connector.exactly_once_support(props(BASE)) is ExactlyOnceSupport.SUPPORTED
    assert connector.exactly_once_support(props(BULK)) is ExactlyOnceSupport.UNSUPPORTED
    assert connector.exactly_once_support(props(BULK, transaction_boundary="CONNECTOR")) is ExactlyOnceSupport.SUPPORTED


@pytest.mark.parametrize(
    ("partition", "offset", "refused"),
    [
        ({"table": "t"}, {"timestamp": "2026-01-01T00:00:00", "incrementing": 4}, None),
        ({"table": "gone"}, None, None),
        ({"table": "gone"}, {"timestamp": "2026-01-01T00:00:00", "incrementing": 4}, "no source partition"),
        ({"table": "t"}, {"incrementing": 4}, "should contain incrementing and timestamp"),
    ],
)
def test_an_operators_offsets_are_looked_at(partition: Any, offset: Any, refused: str | None) -> None:
    connector = SparkTableSourceConnector()
    if refused is None:
        assert connector.alter_offsets(props(BASE), [(partition, offset)])
    else:
        with pytest.raises(ConnectError, match=refused):
            connector.alter_offsets(props(BASE), [(partition, offset)])


def test_an_offset_of_another_mode_fails_the_task() -> None:
    task = started(Database(ROWS), props(BASE), {'{"table": "t"}': {"incrementing": 4}})
    with pytest.raises(ConnectError, match="this mode needs incrementing and timestamp"):
        task.poll()


def test_a_stopped_task_returns() -> None:
    task = started(Database(ROWS), props(BASE))
    task.stop()
    assert task.poll() is None
