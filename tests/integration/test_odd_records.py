# SPDX-License-Identifier: Apache-2.0
"""Records such as no worker should write, in the internal topics of workers over a real broker: they go on, and see all
that lies behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.distributed.distributed_herder import DistributedHerder
from headrace.kafka.clients import client_config
from headrace.storage import config_records, offset_codec
from headrace.storage.config_log import ConfigLog
from headrace.storage.offset_backing_store import OffsetTable
from headrace.storage.status_log import StatusLog
from tests.support.group_of_workers import Cluster
from tests.support.odd_records import KEYS, OFFSET_KEYS, VALUES
from tests.support.polling import wait_for
from tests.tiers import examples

Records = Sequence[tuple[bytes | None, bytes | None]]
CONFIG = {"connector.class": "VerifiableSource", "tasks.max": "1", "topic": "t", "throughput": "1"}
HUGE = b'{"properties":{"a":"' + b"x" * 900_000 + b'"}}'
ODD = b'{"properties":{"name":5,"connector.class":true,"tasks.max":1.5,"a":null,"b":1e400}}'
WRONG = b'{"properties":{"name":"wrong","connector.class":["x"],"tasks.max":{}}}'
BY_HAND: Records = (
    (b"connector-huge", HUGE),
    (b"connector-wrong", WRONG),
    (b"connector-odd", ODD),
    (b"task-odd-0", ODD),
    (b"commit-odd", b'{"tasks":1}'),
    (b"connector-none", b'{"properties":{}}'),
    (b"connector-", b'{"properties":{"connector.class":"VerifiableSource"}}'),
    (b"target-state-wrong", b'{"state":["PAUSED"]}'),
    (b"session-key", b'{"key":"AAAA","algorithm":"none such","creation-timestamp":99999999999999999999}'),
    (b"restart-connector-nobody", b'{"include-tasks":true}'),
    (b"restart-task-nobody-7", b"{}"),
    (b"removed-offsets-nobody", b'{"properties":{"connector.class":5},"producers":2}'),
    (b"tasks-fencing-wrong", b'{"task-count":3}'),
    (b"logger-cluster-a\n\x00b", b'{"level":"DEBUG"}'),
    (b"logger-cluster-", b'{"level":"WARN"}'),
    (b"status-connector-wrong", b'{"state":"RUNNING","generation":99999999999999999999}'),
    (b"status-task-wrong-0", b'{"state":"FAILED","generation":-1,"trace":"\\u0000"}'),
    (b"\xff\xfe", b"\xff"),
    (b"", b""),
)


def write(cluster: Cluster, kind: str, records: Records) -> None:
    producer = client_config.producer({"bootstrap.servers": cluster.config.bootstrap_servers})
    failed: list[object] = []
    topic = getattr(cluster.config, f"{kind}_topic").name
    for key, value in (record for record in records if record[0] is not None):  # without one a broker takes none
        producer.produce(topic, value, key, on_delivery=lambda error, _: error and failed.append(error))
    assert producer.flush(30) == 0 and not failed


def goes_on(cluster: Cluster, herder: DistributedHerder, name: str) -> None:
    """What is written now is read, and done."""
    wait_for(herder.has_started, 30, "the worker's start")
    write(cluster, "config", [*config_records.encode(config_records.ConnectorRecord(name, {**CONFIG, "name": name}))])
    wait_for(lambda: _running(herder, name), 40, f"connector {name}: {herder.failure()}, {herder.stage()}")
    assert herder.failure() is None
    herder.health_check().result(10)


def _running(herder: DistributedHerder, name: str) -> bool:
    if herder.failure() is not None:
        raise AssertionError("the worker has failed") from herder.failure()
    if not herder.has_started() or name not in herder.connectors():
        return False
    try:
        status = herder.connector_status(name)
    except Exception:
        return False
    return [status.connector.state, *(task.state for task in status.tasks)] == ["RUNNING", "RUNNING"]


def test_a_worker_reads_what_lies_between(cluster: Cluster) -> None:
    herder = cluster.start()
    goes_on(cluster, herder, "before")
    for kind in ("config", "status", "offset"):
        write(cluster, kind, BY_HAND)
    goes_on(cluster, herder, "behind")
    for name in herder.connectors():
        herder.connector_info(name), herder.task_infos(name)
    herder.stop(20)

    again = cluster.start()
    wait_for(lambda: _running(again, "before") and _running(again, "behind"), 40, "both connectors, after a start")
    goes_on(cluster, again, "after")
    assert set(again.connectors()) == {"", "after", "before", "behind", "huge", "none", "odd"}


@pytest.mark.parametrize("read", [StatusLog, OffsetTable, ConfigLog])
def test_a_topic_that_is_read_no_more_is_a_failure(
    read: type, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker whose view of the cluster is not updated is not healthy."""
    herder = cluster.start()
    goes_on(cluster, herder, "c")

    def fail(*record: object) -> None:
        raise OverflowError("a record that no test expects")

    monkeypatch.setattr(read, "apply", fail)
    write(cluster, {StatusLog: "status", OffsetTable: "offset", ConfigLog: "config"}[read], [(b"k", b"v")])
    wait_for(lambda: isinstance(herder.failure(), OverflowError), 10, "the worker's failure")


@pytest.fixture(scope="module")
def watched(broker: EmbeddedBroker) -> Iterator[tuple[Cluster, DistributedHerder]]:
    made = Cluster(broker.bootstrap_servers)
    herder = made.start()
    goes_on(made, herder, "first")
    yield made, herder
    herder.stop(20)
    again = made.start()
    wait_for(lambda: _running(again, "first"), 40, "the first connector, after a start")
    made.stop()


@settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(
    config=st.lists(st.tuples(KEYS, VALUES), min_size=20, max_size=40),
    status=st.lists(st.tuples(KEYS, VALUES), min_size=10, max_size=20),
    offsets=st.lists(st.tuples(OFFSET_KEYS, VALUES), min_size=10, max_size=20),
    number=st.integers(0, 2**62),
)
def test_a_worker_continues_with_any_records_in_its_internal_topics(
    watched: tuple[Cluster, DistributedHerder], config: Records, status: Records, offsets: Records, number: int
) -> None:
    cluster, herder = watched
    write(cluster, "config", config)
    write(cluster, "status", status)
    write(cluster, "offset", offsets)
    key = offset_codec.encode_key("read", {"n": number})
    write(cluster, "offset", [(key, b'{"position":1}')])
    goes_on(cluster, herder, f"good{number}")
    for name in herder.connectors():
        herder.connector_info(name), herder.task_infos(name)
