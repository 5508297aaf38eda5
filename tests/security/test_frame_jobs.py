# SPDX-License-Identifier: Apache-2.0
"""A query that ends the engine, again and again: it fails its own task, and no other one loses or doubles a record."""

from __future__ import annotations

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_contiguous, create_numbered
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 300
DEADLY = "SELECT java_method('java.lang.System', 'exit', 3) AS value FROM records"
SLOW = {"transforms.q.query": "SELECT linger(value) AS value FROM records", "batch": "20"}


def query(**more: str) -> dict[str, str]:
    step = {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.functions": "slow_functions:register"}
    return {**step, **more}


def test_a_query_that_ends_the_jvm_fails_its_own_task_alone(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """The worker allows a function that ends a JVM at once, where lack of memory would take its time."""
    own_worker.properties |= {"spark.sql.functions.allowed": "java_method", "frame.job.deaths.max": "2"}
    own_worker.start()
    create_numbered(own_worker, unique, COUNT, **query(**SLOW))
    wait_for_values(broker.bootstrap_servers, unique, 20)
    deadly = f"{unique}-deadly"
    create_numbered(own_worker, deadly, 10, **query(**{"transforms.q.query": DEADLY}))
    own_worker.wait_for_tasks(deadly, "FAILED", seconds=120)
    trace = own_worker.status(deadly)["tasks"][0]["trace"]
    assert f"Spark's engine died 2 times within 600 s while it ran frame jobs of connector {deadly}" in trace
    own_worker.wait_for_tasks(unique, "RUNNING")
    jvm = own_worker.jvm().pid
    assert_contiguous(wait_for_values(broker.bootstrap_servers, unique, COUNT, 120), COUNT)
    assert own_worker.jvm().pid == jvm, "nothing of the deadly one runs any more"
    own_worker.rest.post(f"/connectors/{deadly}/tasks/0/restart").raise_for_status()
    wait_for(lambda: own_worker.task_states(deadly) != ["FAILED"], 30, "an operator's restart gives it another chance")


@pytest.mark.parametrize(
    ("query_text", "excess"),
    [
        ("SELECT CAST(id AS STRING) AS value FROM records, range(1000000000)", "frame.job.result.max.rows=1000000"),
        ("SELECT repeat(value, 100000) AS value FROM records, range(1000000)", "frame.job.result.max.bytes=268435456"),
    ],
    ids=["rows", "bytes"],
)
def test_a_query_that_makes_far_too_much_of_a_batch_fails_its_task(
    worker: WorkerProcess, unique: str, query_text: str, excess: str
) -> None:
    worker.await_answer(path="/health")
    jvm = worker.jvm().pid
    create_numbered(worker, unique, 10, **query(**{"transforms.q.query": query_text}))
    worker.wait_for_tasks(unique, "FAILED", seconds=60)
    trace = worker.status(unique)["tasks"][0]["trace"]
    assert f"transforms.q: the result of a frame job of task 0 of connector {unique} is larger than {excess}" in trace
    assert worker.jvm().pid == jvm
