# SPDX-License-Identifier: Apache-2.0
"""The clusters and pairs of MirrorMaker's file, and the mistakes in it."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError
from headrace.cli.mirror.mirror_config import MirrorConfig, Pair

BROKERS = {"clusters": "A, B", "A.bootstrap.servers": "a:9092", "B.bootstrap.servers": "b:9092"}
ONE_WAY = {**BROKERS, "A->B.enabled": "true"}
THREE = {"clusters": "A,B,C", **{f"{each}.bootstrap.servers": "x:1" for each in "ABC"}}


def pairs(properties: dict[str, str], *targets: str) -> list[str]:
    return [str(pair) for pair in MirrorConfig(properties).pairs(targets)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ["A->B", "B->A"]),
        ({"emit.heartbeats.enabled": "false"}, ["A->B"]),
        ({"B->A.emit.heartbeats.enabled": "false"}, ["A->B"]),
        ({"B->A.emit.heartbeats.enabled": "FALSE", "B->A.enabled": "True"}, ["A->B", "B->A"]),
        ({"emit.heartbeats.enabled": "false", "B->A.emit.heartbeats.enabled": "true"}, ["A->B", "B->A"]),
    ],
)
def test_a_pair_has_a_worker_if_it_is_enabled_or_beats(more: dict[str, str], expected: list[str]) -> None:
    assert pairs({**ONE_WAY, **more}) == expected


def test_a_node_may_be_for_some_targets() -> None:
    assert pairs(THREE, "B") == ["A->B", "C->B"]
    assert pairs(THREE, "C", "A") == ["A->C", "B->A", "B->C", "C->A"]
    assert len(pairs(THREE)) == 6


def test_flags_and_clusters_may_be_values_of_config_providers() -> None:
    given = {**BROKERS, "clusters": "${env:CLUSTERS}", "emit.heartbeats.enabled": "${env:BEATS}"}
    config = MirrorConfig(given, {**BROKERS, "emit.heartbeats.enabled": "false", "A->B.enabled": "true"})
    assert config.pairs() == (Pair("A", "B"),)


@pytest.mark.parametrize(
    ("changes", "targets", "message"),
    [
        ({"clusters": " , "}, (), "clusters is missing or empty: the aliases of the clusters, such as clusters = A, B"),
        ({"A->C.enabled": "true"}, (),
         "Invalid value 'true' for configuration A->C.enabled: cluster C is not in clusters = A, B"),
        ({"A->B.enabled": "yes"}, (), "Invalid value 'yes' for configuration A->B.enabled: true or false expected"),
        ({"emit.heartbeats.enabled": "off"}, (),
         "Invalid value 'off' for configuration emit.heartbeats.enabled: true or false expected"),
        ({}, ("C",), "Invalid value 'C' for configuration --clusters: cluster C is not in clusters = A, B"),
        ({"A->B.enabled": "false", "emit.heartbeats.enabled": "false"}, (),
         "No pair of clusters = A, B is enabled: set one, such as A->B.enabled = true"),
        ({"emit.heartbeats.enabled": "false"}, ("A",),
         "No pair of clusters = A, B is enabled to A (--clusters): set one, such as B->A.enabled = true"),
        ({"clusters": "A"}, (), "clusters = A is one cluster: at least two are needed"),
        ({"B.bootstrap.servers": " "}, (),
         "B.bootstrap.servers is missing or empty: the brokers of cluster B of clusters"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_property(changes: dict[str, str], targets: tuple[str, ...], message: str) -> None:
    properties = {**ONE_WAY, **changes}
    if changes.get("clusters") == "A":
        del properties["A->B.enabled"]
    with pytest.raises(ConfigError) as raised:
        MirrorConfig(properties).pairs(targets)
    assert str(raised.value) == message


def test_brokers_without_a_prefix_are_those_of_every_cluster() -> None:
    given = {"clusters": "A,B", "bootstrap.servers": "all:1", "A->B.enabled": "true"}
    assert pairs(given) == ["A->B", "B->A"]


def test_the_nearest_property_counts() -> None:
    config = MirrorConfig(
        {
            **ONE_WAY,
            "security.protocol": "SSL",
            "B.security.protocol": "SASL_SSL",
            "B.producer.security.protocol": "PLAINTEXT",
            "topics": "all",
            "A->B.topics": "orders",
            "B.group.id": "mine",
            "status.storage.replication.factor": "1",
            "group.id": "of no worker",
        }
    )
    worker = config.worker_config(Pair("A", "B"))
    protocols = {name: text for name, text in worker.items() if name.endswith("security.protocol")}
    assert protocols == {
        "security.protocol": "SASL_SSL",
        "producer.security.protocol": "PLAINTEXT",
        "consumer.security.protocol": "SASL_SSL",
        "admin.security.protocol": "SASL_SSL",
    }
    assert worker["group.id"] == "mine"
    assert config.worker_config(Pair("B", "A"))["group.id"] == "B-mm2"
    assert worker["status.storage.replication.factor"] == "1"
    assert worker["config.storage.topic"] == "mm2-configs.A.internal"
    assert config.connector_config(Pair("A", "B"), "MirrorSourceConnector")["topics"] == "orders"
    back = config.connector_config(Pair("B", "A"), "MirrorSourceConnector")
    assert (back["topics"], back["enabled"]) == ("all", "false")
    assert back["source.producer.security.protocol"] == "PLAINTEXT"
    assert back["target.cluster.security.protocol"] == "SSL"
