# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig

MakeConfig = Callable[..., DistributedConfig]
Build = Callable[[DistributedConfig, dict[str, str], int], dict[str, str]]

VECTORS = Path(__file__).parents[2] / "vectors" / "naming.jsonl"
BUILDERS: dict[str, Build] = {
    "connector-offset-alter-producer": lambda worker, conn, task: client_configs.offset_alter_producer(worker, conn),
    "leader-config-producer": lambda worker, conn, task: client_configs.leader_producer(worker),
    "sink-task-consumer": client_configs.sink_task_consumer,
    "sink-task-dlq-admin": client_configs.dead_letter_admin,
    "sink-task-dlq-producer": client_configs.dead_letter_producer,
    "source-connector-offsets-admin": lambda worker, conn, task: client_configs.source_offsets_admin(worker, conn),
    "source-connector-offsets-consumer": lambda worker, conn, task: client_configs.source_offsets_consumer(
        worker, conn
    ),
    "source-task-admin": client_configs.source_task_admin,
    "source-task-offsets-consumer": client_configs.source_offsets_consumer,
    "source-task-producer": client_configs.source_task_producer,
    "worker-admin-for-connector": lambda worker, conn, task: client_configs.fencing_admin(worker, conn),
    "worker-config-consumer": lambda worker, conn, task: client_configs.config_log_consumer(worker),
    "worker-config-producer": lambda worker, conn, task: client_configs.config_log_producer(worker),
    "worker-offsets-consumer": lambda worker, conn, task: client_configs.offsets_log_consumer(worker),
    "worker-offsets-producer": lambda worker, conn, task: client_configs.offsets_log_producer(worker),
    "worker-status-consumer": lambda worker, conn, task: client_configs.status_log_consumer(worker),
    "worker-status-producer": lambda worker, conn, task: client_configs.status_log_producer(worker),
}


def _vectors() -> list[Any]:
    vectors = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    roles = [vector for vector in vectors if "role" in vector["input"]]
    return [pytest.param(each, id=each["id"]) for each in roles]


def _comparable(output: dict[str, str | None]) -> dict[str, str]:
    """Without serializers, which Python clients do not have, and with one spelling of acks."""
    shown = {key: value for key, value in output.items() if value is not None and "serializer" not in key}
    return {key: "all" if (key, value) == ("acks", "-1") else value for key, value in shown.items()}


@pytest.mark.parametrize("vector", _vectors())
def test_names_and_settings_are_javas(make_config: MakeConfig, vector: dict[str, Any]) -> None:
    given = vector["input"]
    worker = make_config(
        **{
            "group.id": given["groupId"],
            "client.id": given["workerClientId"],
            "exactly.once.source.support": "enabled" if given["exactlyOnce"] else "disabled",
        }
    )
    connector = {"name": given.get("connector", ""), **given.get("connectorConfig", {})}
    built = BUILDERS[given["role"]](worker, connector, given.get("task", 0))
    expected = _comparable(vector["output"])
    assert {key: value for key, value in built.items() if key in expected or key == "transactional.id"} == expected
    assert built["bootstrap.servers"] == "broker:9092"


def test_every_role_is_covered() -> None:
    assert {param.values[0]["input"]["role"] for param in _vectors()} == set(BUILDERS)


def test_sources_in_order_of_strength(make_config: MakeConfig) -> None:
    worker = make_config(
        **{
            "sasl.mechanism": "PLAIN",
            "ssl.ca": "top",
            "producer.ssl.ca": "prefix",
            "producer.linger.ms": "1",
            "producer.batch.size": "2",
        }
    )
    props = client_configs.source_task_producer(worker, {"name": "c", "producer.override.linger.ms": "3"}, 0)
    assert (props["sasl.mechanism"], props["ssl.ca"], props["linger.ms"], props["batch.size"]) == (
        "PLAIN",
        "prefix",
        "3",
        "2",
    )
    assert "key.converter" not in props


def test_the_group_member_has_the_workers_client_id(make_config: MakeConfig) -> None:
    assert client_configs.group_member(make_config(), "here:8083")["client.id"] == "connect-here:8083"
    assert client_configs.group_member(make_config(**{"client.id": "mine"}), "here:8083")["client.id"] == "mine"


@pytest.mark.parametrize("exactly_once", ["enabled", "disabled"])
def test_transactional_id_cannot_be_overridden(
    make_config: MakeConfig, caplog: pytest.LogCaptureFixture, exactly_once: str
) -> None:
    worker = make_config(**{"exactly.once.source.support": exactly_once})
    connector = {"name": "c", "producer.override.transactional.id": "mine"}
    with caplog.at_level(logging.WARNING):
        props = client_configs.source_task_producer(worker, connector, 1)
    assert props.get("transactional.id") == ("g-c-1" if exactly_once == "enabled" else None)
    assert "transactional.id=mine" in caplog.text


def test_no_user_chooses_the_leaders_transactional_id(
    make_config: MakeConfig, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        props = client_configs.leader_producer(make_config(**{"transactional.id": "mine"}))
    assert props["transactional.id"] == "connect-cluster-g"
    assert "transactional.id=mine is ignored" in caplog.text


def test_idempotence_cannot_be_switched_off(make_config: MakeConfig, caplog: pytest.LogCaptureFixture) -> None:
    worker = make_config(**{"exactly.once.source.enabled": "true", "producer.enable.idempotence": "false"})
    with caplog.at_level(logging.WARNING):
        props = client_configs.source_task_producer(worker, {"name": "c"}, 0)
    assert props["enable.idempotence"] == "true"
    assert "enable.idempotence=false" in caplog.text


def test_no_warning_where_nothing_was_overridden(make_config: MakeConfig, caplog: pytest.LogCaptureFixture) -> None:
    worker = make_config(**{"exactly.once.source.enabled": "true"})
    with caplog.at_level(logging.WARNING):
        client_configs.source_task_producer(worker, {"name": "c"}, 0)
        client_configs.source_offsets_consumer(worker, {"name": "c"})
    assert not caplog.records


def test_overrides_are_taken_as_they_are(make_config: MakeConfig) -> None:
    """The worker's policy has judged them before: see the tests of the override policies."""
    connector = {"name": "c", "admin.override.interceptor.classes": "x", "admin.override.": "y"}
    props = client_configs.fencing_admin(make_config(), connector)
    assert props["interceptor.classes"] == "x"
    assert "" not in props


def test_what_stands_beside_a_source_connectors_producer_goes_where_it_goes(make_config: MakeConfig) -> None:
    """Its offsets are there and its zombies too: fenced anywhere else, they would not be (invariant 2)."""
    worker = make_config(**{"bootstrap.servers": "here:1,here:2", "security.protocol": "SSL"})
    there = {
        "name": "c",
        "producer.override.bootstrap.servers": "there:1",
        "producer.override.security.protocol": "SASL_SSL",
        "producer.override.linger.ms": "5",
    }
    beside = [
        lambda config: client_configs.source_offsets_consumer(worker, config),
        lambda config: client_configs.source_offsets_admin(worker, config),
        lambda config: client_configs.source_task_admin(worker, config, 0),
        lambda config: client_configs.fencing_admin(worker, config),
    ]
    for props in (make(there) for make in beside):
        assert (props["bootstrap.servers"], props["security.protocol"]) == ("there:1", "SASL_SSL")
        assert "linger.ms" not in props
    own = {f"{client}.override.bootstrap.servers": "there:2" for client in ("consumer", "admin")}
    assert {make(there | own)["bootstrap.servers"] for make in beside} == {"there:2"}
    assert client_configs.consumer_group_admin(worker, there)["bootstrap.servers"] == "here:1,here:2"


@pytest.mark.parametrize(
    ("servers", "other"), [(None, False), ("here:2, here:1", False), ("here:1", True), ("there:1", True)]
)
def test_another_cluster_is_recognized_by_its_servers(
    make_config: MakeConfig, servers: str | None, other: bool
) -> None:
    override = {} if servers is None else {"producer.override.bootstrap.servers": servers}
    worker = make_config(**{"bootstrap.servers": "here:1,here:2"})
    assert client_configs.targets_other_cluster(worker, {"name": "c", **override}) is other
