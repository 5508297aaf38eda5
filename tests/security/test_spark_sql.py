# SPDX-License-Identifier: Apache-2.0
"""SQL in a connector's configuration works on the batch: it reaches neither Java, nor programs, files or networks."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess, mistakes

HOME = "reflect('java.lang.System', 'getProperty', 'user.home')"
EXIT = "java_method('java.lang.System', 'exit', 1)"
OF_JAVA = "calls methods of Java's"
QUERIES = {
    f"SELECT {HOME} AS home": OF_JAVA,
    f"SELECT {EXIT} AS gone": OF_JAVA,
    "SELECT try_reflect('java.lang.System', 'getenv', 'PATH') AS path": OF_JAVA,
    f"SELECT system.builtin.{HOME} AS home": OF_JAVA,
    f"SELECT value FROM records WHERE value IN (SELECT {HOME})": OF_JAVA,
    f"WITH a AS (SELECT (SELECT max({HOME}) FROM records) AS home) SELECT * FROM a": OF_JAVA,
    f"SELECT transform(array(value), x -> {HOME}) AS home FROM records": OF_JAVA,
    f"SELECT value FROM records LATERAL VIEW explode(array({HOME})) AS home": OF_JAVA,
    f"SELECT max(value) FILTER (WHERE {HOME} = '/') AS most FROM records": OF_JAVA,
    "SELECT IDENTIFIER('reflect')('java.lang.System', 'exit', 1) AS gone": "IDENTIFIER",
    "SELECT TRANSFORM(value) USING 'id' AS (value) FROM records": "starts a program",
    "SELECT * FROM text.`/etc/passwd`": "cannot be found",
    "SELECT value FROM IDENTIFIER('text.`/etc/passwd`')": "cannot be found",
    "SELECT from_xml(value, 'a INT', map('rowValidation' || 'XSDPath', '/etc/x')) AS x FROM records": "reads files",
    "SELECT from_avro(value, '\"int\"', map('avroSchemaUrl', 'file:/etc/passwd')) AS x FROM records": "reads files",
    "EXECUTE IMMEDIATE 'SELECT 1'": "PARSE_SYNTAX_ERROR",
    "SET spark.sql.functions.allowed=reflect": "PARSE_SYNTAX_ERROR",
    "FROM records INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT value": "PARSE_SYNTAX_ERROR",
}


def through(query: str, **more: str) -> dict[str, str]:
    """A source of two lines whose batches go through a query, which is checked as far as it can be."""
    given = {"kind": "text", "polls": json.dumps([["one"], ["two"]]), "topic": "any", "tasks.max": "1"}
    given["timestamp"] = str(time.time_ns() // 1_000_000)
    step = {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": query}
    typed = {"transforms.q.value.schema": "STRING"}
    return {"connector.class": "listed_source.ListedSourceConnector", **given, **step, **typed, **more}


def test_a_query_that_reaches_beyond_its_batch_is_refused(worker: WorkerProcess) -> None:
    for query, expected in QUERIES.items():
        found = mistakes(worker, through(query))
        assert expected in found["transforms.q.query"][0], query


def test_calls_of_java_are_refused_even_if_the_types_are_not_known_yet(worker: WorkerProcess) -> None:
    untyped = {"transforms.q.type": "SparkSql", "transforms.q.value.schema": ""}
    found = mistakes(worker, through(f"SELECT value, {EXIT} AS gone FROM records", **untyped))
    assert OF_JAVA in found["transforms.q.query"][0]


def test_a_function_that_hides_it_fails_its_task(worker: WorkerProcess, unique: str) -> None:
    """The query says `key`, whose type is not known before there is a record: it is analysed by the task first."""
    hidden = {"transforms.q.functions": "sneaky_functions:register", "topic": unique}
    worker.create(unique, **through("SELECT home() AS value, key FROM records", **hidden))
    worker.wait_for_tasks(unique, "FAILED")
    trace = worker.status(unique)["tasks"][0]["trace"]
    assert "The function reflect calls methods of Java's" in trace


@pytest.mark.parametrize(
    "ddl", [f"`x: int>).x + length({HOME}) + CAST(NULL AS struct<y` INT", "`it's <odd>, `` too` INT"]
)
def test_names_of_fields_are_names(worker: WorkerProcess, broker: EmbeddedBroker, unique: str, ddl: str) -> None:
    """What a type's text is part of was once an expression that ran."""
    typed = {"transforms.q.value.schema": ddl, "polls": json.dumps([["{}"]]), "topic": unique}
    query = "SELECT to_json(value, map('ignoreNullFields', 'false')) AS value FROM records"
    worker.create(unique, **through(query, **typed))
    [value] = wait_for_values(broker.bootstrap_servers, unique, 1)
    assert list(json.loads(value or b"").values()) == [None]


def test_expressions_of_sources_and_sinks_are_queries_too(worker: WorkerProcess, tmp_path: Path) -> None:
    source = {"connector.class": "SparkTableSource", "topic": "any", "spark.format": "text", "path": "/etc/hostname"}
    given: dict[str, Any] = {**source, "mode": "bulk", "where": f"value = {HOME}"}
    assert OF_JAVA in mistakes(worker, given)["where"][0]
    sink = {"connector.class": "SparkSink", "topics": "any", "spark.format": "json", "path": str(tmp_path)}
    given = {**sink, "value.schema": "a STRING", "partition.by": f"{HOME} AS home"}
    assert OF_JAVA in mistakes(worker, given)["partition.by"][0]


def test_xml_of_a_record_connects_to_no_host(worker: WorkerProcess, unique: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/x.dtd"
        text = f'<!DOCTYPE a SYSTEM "{address}"><a>b</a>'
        config = through("SELECT xpath_string(value, 'a') AS value FROM records", polls=json.dumps([[text]]))
        worker.create(unique, **{**config, "topic": unique})
        worker.wait_for_tasks(unique, "FAILED")
        with pytest.raises(BlockingIOError):
            listener.accept()
