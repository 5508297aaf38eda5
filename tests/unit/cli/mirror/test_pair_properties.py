# SPDX-License-Identifier: Apache-2.0
"""The worker of each pair: its listener, and what only headrace has."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError
from headrace.cli.mirror.mirror_config import MirrorConfig
from headrace.cli.mirror.pair_properties import worker_properties
from headrace.cli.worker_properties import check_worker_properties
from headrace.config.distributed_config import DistributedConfig

THREE = {"clusters": "A,B,C", **{f"{each}.bootstrap.servers": "x:1" for each in "ABC"}}
OPEN = {**THREE, "dedicated.mode.enable.internal.rest": "true"}


def listeners(properties: dict[str, str], *targets: str) -> dict[str, str]:
    config = MirrorConfig(properties)
    return {str(pair): worker_properties(config, pair)["listeners"] for pair in config.pairs(targets)}


def test_each_pair_listens_above_the_one_before_it() -> None:
    given = {**OPEN, "listeners": "http://[::1]:8083, https://mm.example:9443"}
    found = listeners(given)
    assert found["A->B"] == "http://[::1]:8083,https://mm.example:9443"
    assert found["C->B"] == "http://[::1]:8088,https://mm.example:9448"
    assert len(set(found.values())) == 6


def test_a_node_of_some_targets_has_the_same_ports() -> None:
    assert listeners(OPEN, "B") == {"A->B": "http://:8083", "C->B": "http://:8088"}


def test_free_ports_stay_free_ports() -> None:
    assert set(listeners({**OPEN, "listeners": "http://127.0.0.1:0"}).values()) == {"http://127.0.0.1:0"}


def test_advertised_ports_move_too() -> None:
    config = MirrorConfig({**OPEN, "rest.advertised.port": "80", "rest.advertised.host.name": "proxy"})
    last = worker_properties(config, config.pairs()[-1])
    assert (last["rest.advertised.port"], last["rest.advertised.host.name"]) == ("85", "proxy")


@pytest.mark.parametrize("name", ["listeners", "rest.advertised.port"])
def test_a_listener_that_is_none(name: str) -> None:
    config = MirrorConfig({**OPEN, name: "here"})
    with pytest.raises(ConfigError, match=f"'here' for configuration {name}"):
        worker_properties(config, config.pairs()[0])


def test_without_internal_rest_no_other_machine_is_listened_to_or_advertised_to() -> None:
    config = MirrorConfig({**THREE, "listeners": "http://:8083", "B.listeners": "http://:8084"})
    found = worker_properties(config, config.pairs()[0])
    assert (found["listeners"], found["admin.listeners"]) == ("http://127.0.0.1:0", "")
    assert found["rest.advertised.host.name"].endswith(".invalid")


def test_properties_of_headrace_alone_need_no_prefix() -> None:
    given = {**THREE, "spark.master": "local[4]", "plugin.path": "/all", "B.plugin.path": "/b", "log.format": "json"}
    config = MirrorConfig(given)
    found = worker_properties(config, config.pairs(["B"])[0])
    assert (found["spark.master"], found["plugin.path"], found["log.format"]) == ("local[4]", "/b", "json")
    assert found["connector.client.config.override.policy"] == "All"


def test_a_usual_file_has_no_mistake_in_the_eyes_of_a_worker() -> None:
    given = {
        **OPEN,
        "tasks.max": "4",
        "task.shutdown.graceful.timeout.ms": "10000",
        "worker.sync.timeout.ms": "3000",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "replication.policy.separator": "-",
        "B.exactly.once.source.support": "enabled",
        "B.producer.compression.type": "zstd",
        "B.consumer.max.poll.records": "100",
        "B.admin.retries": "3",
        "sasl.mechanism": "PLAIN",
        "offset.storage.partitions": "5",
    }
    config = MirrorConfig(given)
    for pair in config.pairs():
        assert not {"tasks.max", "replication.policy.class"} & worker_properties(config, pair).keys()
        check_worker_properties(DistributedConfig, worker_properties(config, pair))
