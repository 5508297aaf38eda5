# SPDX-License-Identifier: Apache-2.0
"""Queries and functions over the batches of a real source, through Spark, into Kafka."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import Read, committed_offsets, read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess, mistakes

CLASS = "listed_source.ListedSourceConnector"
PLAIN_JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
NOW = time.time_ns() // 1_000_000
"""Brokers soon remove records that are older than their topic's retention."""
SALES = [[{"item": "tea", "price": 3}, {"item": "cup", "price": 12}], [{"item": "pot", "price": 30}]]


class Listed:
    """A connector that polls what a test lists, through one step."""

    def __init__(self, worker: WorkerProcess, broker: EmbeddedBroker, name: str) -> None:
        self.worker = worker
        self.name = name
        self._bootstrap = broker.bootstrap_servers

    def create(self, kind: str, polls: Any, query: str | None = None, **more: str) -> None:
        self.worker.create(self.name, **self.config(kind, polls, query, **more))

    def config(self, kind: str, polls: Any, query: str | None = None, **more: str) -> dict[str, str]:
        step = {} if query is None else {"transforms.q.type": "SparkSql", "transforms.q.query": query}
        given = {"kind": kind, "polls": json.dumps(polls), "topic": self.name, "tasks.max": "1", "transforms": "q"}
        given["timestamp"] = str(NOW)
        return {"connector.class": CLASS, **given, **step, **more}

    def values(self, count: int) -> list[Any]:
        return [
            None if value is None else value.decode() for value in wait_for_values(self._bootstrap, self.name, count)
        ]

    def json(self, count: int) -> list[Any]:
        return [json.loads(value) for value in self.values(count)]

    def records(self, count: int) -> list[Read]:
        self.values(count)
        return read_committed(self._bootstrap, self.name)

    def await_polls(self, polls: int) -> None:
        """Until so many polls are committed."""
        topic = self.worker.properties["offset.storage.topic"]

        def committed() -> bool:
            found = committed_offsets(self._bootstrap, topic, self.name)
            return found.get('{"list": 1}') == {"polls": polls}

        wait_for(committed, 60, lambda: f"{polls} polls: {self.worker.status(self.name)}\n{self.worker.log[-3000:]}")

    def failure(self) -> str:
        self.worker.wait_for_tasks(self.name, "FAILED")
        trace: str = self.worker.status(self.name)["tasks"][0]["trace"]
        return trace


@pytest.fixture
def listed(worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> Listed:
    return Listed(worker, broker, unique)


def test_a_query_filters_and_makes_a_struct_of_its_columns(listed: Listed) -> None:
    query = "SELECT topic, value.item AS what, value.price * 2 AS twice FROM records WHERE value.price > 5"
    listed.create("sale", SALES, query, **PLAIN_JSON)
    assert listed.json(2) == [{"what": "cup", "twice": 24}, {"what": "pot", "twice": 60}]


def test_all_columns_come_through_as_they_were(listed: Listed) -> None:
    listed.create("sale", SALES, "SELECT * FROM records", **PLAIN_JSON)
    first = listed.records(3)[0]
    assert json.loads(first.value or b"") == SALES[0][0]
    assert (first.key, first.timestamp) == (b"k0", NOW)
    assert first.headers == [("from", b"list")]


def test_schemas_survive(listed: Listed) -> None:
    listed.create("sale", SALES, "SELECT * FROM records", **{"value.converter": "JsonConverter"})
    message = listed.json(3)[0]
    fields = {field["field"]: (field["type"], field["optional"]) for field in message["schema"]["fields"]}
    assert fields == {"item": ("string", False), "price": ("int64", False)}
    assert message["payload"] == SALES[0][0]


def test_one_record_becomes_many(listed: Listed) -> None:
    listed.create("text", [["a b", "c"], [""], ["d e f"]], "SELECT explode(split(value, ' ')) AS value FROM records")
    assert listed.values(7) == ["a", "b", "c", "", "d", "e", "f"]


def test_an_aggregation_is_one_of_a_batch(listed: Listed) -> None:
    query = "SELECT sum(value.price) AS total, count(*) AS sales FROM records"
    listed.create("sale", SALES, query, **PLAIN_JSON)
    assert listed.json(2) == [{"total": 15, "sales": 2}, {"total": 30, "sales": 1}]


def test_values_without_a_schema_are_variants(listed: Listed) -> None:
    polls = [[{"level": "ERROR", "n": 1}, {"level": "INFO", "n": 2}, {"level": "ERROR", "n": 3}]]
    listed.create("plain", polls, "SELECT value FROM records WHERE value:level::string = 'ERROR'", **PLAIN_JSON)
    assert listed.json(2) == [{"level": "ERROR", "n": 1}, {"level": "ERROR", "n": 3}]


def test_a_schema_of_ones_own_types_json_texts(listed: Listed) -> None:
    polls = [['{"a": 1, "b": "x"}', '{"a": 5}']]
    schema = {"transforms.q.value.schema": "a INT, b STRING"}
    listed.create("text", polls, "SELECT value.a + 1 AS a, value.b AS b FROM records", **schema, **PLAIN_JSON)
    assert listed.json(2) == [{"a": 2, "b": "x"}, {"a": 6, "b": None}]


def test_a_batch_is_cut_where_its_schema_changes(listed: Listed) -> None:
    polls = [["text", "more", SALES[0][0], None, SALES[0][1]]]
    listed.create("sale", polls, "SELECT typeof(value) AS type, count(*) AS n FROM records GROUP BY 1", **PLAIN_JSON)
    assert [(row["type"][:6], row["n"]) for row in listed.json(2)] == [("string", 2), ("struct", 3)]


def test_offsets_advance_over_batches_that_a_query_empties(listed: Listed) -> None:
    listed.create("text", [["a"], ["b"], ["keep"], ["c"]], "SELECT * FROM records WHERE value = 'keep'")
    listed.await_polls(4)
    assert listed.values(1) == ["keep"]


def test_a_table_that_was_polled_goes_straight_in(listed: Listed) -> None:
    listed.create("table", [["a", "b"], ["c"]], "SELECT concat(value, '!') AS value FROM records WHERE value <> 'b'")
    assert listed.values(2) == ["a!", "c!"]
    listed.await_polls(2)


UPPER = "SELECT upper(value) AS value FROM records"


def test_polls_of_an_interval_go_through_the_query_together(listed: Listed) -> None:
    how = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "200"}
    listed.create("text", [["a"], ["b", "c"], ["d"], []], UPPER, **how)
    assert listed.values(4) == ["A", "B", "C", "D"]
    listed.await_polls(3)


def test_records_stay_in_the_transaction_that_the_task_has_for_them(listed: Listed) -> None:
    """It ends one with each second poll, and leaves the last one open."""
    listed.create("text", [["a"], ["b", "c"], ["d"]], UPPER, **{"transaction.boundary": "connector"})
    listed.await_polls(2)
    assert listed.values(3) == ["A", "B", "C"]


def test_steps_on_records_before_and_behind(listed: Listed) -> None:
    steps = {
        "transforms": "route,q,again,wrap",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": "(.*)",
        "transforms.route.replacement": "$1",
        "transforms.again.type": "SparkSql",
        "transforms.again.query": "SELECT concat(value, '2') AS value FROM records",
        "transforms.wrap.type": "HoistField$Value",
        "transforms.wrap.field": "line",
    }
    listed.create("text", [["a", "b"]], "SELECT concat(value, '1') AS value FROM records", **steps, **PLAIN_JSON)
    assert listed.json(2) == [{"line": "a12"}, {"line": "b12"}]


def test_a_function_of_ones_own_is_a_step(listed: Listed) -> None:
    listed.create("text", [["a", "", "b"]], **{"transforms.q.type": "listed_source.loud"})
    assert listed.values(2) == ["A", "B"]


def test_a_function_has_to_give_a_frame(listed: Listed) -> None:
    listed.create("text", [["a"]], **{"transforms.q.type": "listed_source.no_frame"})
    assert "transforms.q: A step on frames has to give a DataFrame, but gave int" in listed.failure()


def test_functions_of_ones_own_in_a_query(listed: Listed) -> None:
    own = {"transforms.q.functions": "listed_source:register"}
    listed.create("text", [["a", "b"]], "SELECT shout(value) AS value FROM records", **own)
    assert listed.values(2) == ["a!", "b!"]


def test_a_reference_table_that_is_read_again(listed: Listed, tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("item,rate\ntea,2\n")
    table = {
        "transforms.q.table.rates": f"format:csv,path:{rates},header:true",
        "transforms.q.table.rates.reload.interval.ms": "50",
        "repeat": "100000",
    }
    query = "SELECT cast(rate AS INT) * value.price AS sum FROM records JOIN rates ON item = value.item"
    listed.create("sale", SALES, query, **table, **PLAIN_JSON)
    assert listed.json(1)[0] == {"sum": 6}
    rates.write_text("item,rate\ntea,5\n")
    wait_for(lambda: {"sum": 15} in listed.json(1), 30, "the new rate")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1 / (value - value) AS x FROM (SELECT cast(value AS INT) AS value FROM records)", "DIVIDE_BY_ZERO"),
        ("SELECT cast(NULL AS STRING) AS topic, value FROM records", "whose topic is null"),
        ("SELECT -1 AS partition, value FROM records", "partition is -1"),
        ("SELECT 'p' AS partition, value FROM records", "Column 'partition' of the result must be INT"),
        ("SELECT key FROM records", "has no value"),
        ("SELECT value, 1 AS extra FROM records", "no record has: extra"),
        ("SELECT nothing FROM records", "UNRESOLVED_COLUMN"),
        ("SELECT stumble(value) AS value FROM records", "ValueError: stumbled over 1"),
    ],
)
def test_a_batch_that_cannot_be_transformed_fails_the_task(listed: Listed, query: str, expected: str) -> None:
    listed.create("text", [["1"]], query, **{"transforms.q.functions": "listed_source:register"})
    trace = listed.failure()
    assert trace.startswith("transforms.q: ") and expected in trace.partition("Traceback")[0], trace
    assert "\tat org." not in trace


def test_a_mistake_takes_one_line_of_the_log(listed: Listed) -> None:
    """PySpark printed the JVM's stack trace too: 13,000 characters, as JSON."""
    worker, said = listed.worker, len(listed.worker.log)
    listed.create("text", [["1"]], "SELECT from_json(value, 'id BIGINTT') AS value FROM records")
    assert "[PARSE_SYNTAX_ERROR]" in listed.failure()
    line = f"ERROR [{listed.name}|task-0] task failed: transforms.q: [PARSE_SYNTAX_ERROR] Syntax error at or near"
    wait_for(lambda: line in worker.log[said:], 10, lambda: worker.log[said:])
    known = ("INFO", "WARNING Connector")
    lines = [each for each in worker.log[said:].splitlines() if not each.partition("] ")[2].startswith(known)]
    found = "\n".join(lines)
    assert "SQLSTATE: 42601" in found and len(found) <= 1500, found


def test_records_that_fail_are_found_and_set_aside(listed: Listed, broker: EmbeddedBroker) -> None:
    letters = f"{listed.name}-letters"
    values = [str(n) for n in range(40)]
    values[7] = values[30] = "none"
    tolerant = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    listed.create("text", [values], "SELECT cast(value AS INT) + 1 AS value FROM records", **tolerant)
    assert listed.values(38) == [str(n + 1) for n in range(40) if n not in (7, 30)]
    assert wait_for_values(broker.bootstrap_servers, letters, 2) == [b'"none"', b'"none"']


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FORM records", "PARSE_SYNTAX_ERROR"),
        ("SELECT value.c FROM records", "FIELD_NOT_FOUND"),
        ("SELECT * FROM elsewhere", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT 'p' AS partition, value.a FROM records", "Column 'partition' of the result must be INT"),
        ("DROP TABLE records", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_validation_has_sparks_words(listed: Listed, query: str, expected: str) -> None:
    config = listed.config("text", [[]], query, **{"transforms.q.value.schema": "a INT, b STRING"})
    found = mistakes(listed.worker, config)
    assert list(found) == ["transforms.q.query"]
    [error] = found["transforms.q.query"]
    assert expected in error and "\tat " not in error, error
    refused = listed.worker.rest.post("/connectors", json={"name": listed.name, "config": config})
    assert refused.status_code == 400 and expected in refused.text


def test_validation_shows_where_in_the_query(listed: Listed) -> None:
    found = mistakes(listed.worker, listed.config("text", [[]], "SELECT *\nFORM records"))
    assert "line 2, pos" in found["transforms.q.query"][0]


def test_what_cannot_be_is_refused(listed: Listed) -> None:
    query = "SELECT * FROM records"
    predicate = {"transforms.q.predicate": "p", "predicates": "p", "predicates.p.type": "RecordIsTombstone"}
    assert list(mistakes(listed.worker, listed.config("text", [[]], query, **predicate))) == ["transforms.q.predicate"]
    elsewhere = {"transforms.q.functions": "os:system"}
    found = mistakes(listed.worker, listed.config("text", [[]], query, **elsewhere))
    assert "this worker imports nothing from module os" in found["transforms.q.functions"][0]
    table = {"transforms.q.table.t": "csv"}
    found = mistakes(listed.worker, listed.config("text", [[]], query, **table))
    assert "must be like format:csv" in found["transforms.q.table.t"][0]


def test_the_step_is_listed_with_its_properties(worker: WorkerProcess) -> None:
    listed = worker.rest.get("/connector-plugins?connectorsOnly=false").json()
    assert "headrace.transforms.spark_sql.SparkSql" in [plugin["class"] for plugin in listed]
    properties = worker.rest.get("/connector-plugins/SparkSql/config").json()
    assert [property["name"] for property in properties] == ["query", "value.schema", "functions"]
