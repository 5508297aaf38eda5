# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.api.errors import ConfigError
from headrace.config.distributed_config import DistributedConfig, InternalTopic
from headrace.config.engine_config import EngineConfig

MakeConfig = Callable[..., DistributedConfig]


def test_heartbeats_are_more_frequent_than_javas(make_config: MakeConfig) -> None:
    assert make_config().seconds("heartbeat.interval.ms") == 1.0


def test_defaults_are_javas(make_config: MakeConfig) -> None:
    config = make_config()
    assert config.get("session.timeout.ms") == 10000
    assert config.get("rebalance.timeout.ms") == 60000
    assert config.get("worker.sync.timeout.ms") == 3000
    assert config.get("worker.unsync.backoff.ms") == 300000
    assert config.get("scheduled.rebalance.max.delay.ms") == 300000
    assert config.connect_protocol == "sessioned"
    assert config.listeners == ("http://:8083",)
    assert config.offset_flush_interval == 60.0
    assert config.graceful_timeout == 5.0
    assert config.config_topic == InternalTopic("configs", 1, 3, {"cleanup.policy": "compact"})
    assert config.offset_topic.partitions == 25
    assert config.status_topic.partitions == 5
    assert not config.exactly_once_source_enabled
    assert config.transactional_leader_id == "connect-cluster-g"


def test_topic_settings_come_from_the_prefix_and_stay_compacted(make_config: MakeConfig) -> None:
    config = make_config(
        **{
            "offset.storage.partitions": "-1",
            "offset.storage.replication.factor": "1",
            "offset.storage.min.insync.replicas": "1",
            "offset.storage.cleanup.policy": "delete",
            "config.storage.partitions": "7",
        }
    )
    assert config.offset_topic == InternalTopic(
        "offsets", -1, 1, {"cleanup.policy": "compact", "min.insync.replicas": "1"}
    )
    assert config.config_topic.partitions == 1


@pytest.mark.parametrize("missing", ["group.id", "config.storage.topic", "offset.storage.topic", "key.converter"])
def test_missing_property_is_named(make_config: MakeConfig, missing: str) -> None:
    with pytest.raises(ConfigError, match=f'"{missing}"') as error:
        make_config(**{missing: None})
    assert error.value.name == missing


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("session.timeout.ms", "soon"),
        ("heartbeat.interval.ms", "0"),
        ("heartbeat.interval.ms", "10000"),
        ("offset.storage.partitions", "0"),
        ("status.storage.replication.factor", "-2"),
        ("connect.protocol", "lazy"),
        ("exactly.once.source.support", "maybe"),
        ("group.id", " "),
        ("listeners", "8083"),
        ("listeners", "ftp://:8083"),
        ("listeners", "http://:80x"),
        ("bootstrap.servers", ""),
        ("offset.flush.interval.ms", "0"),
    ],
)
def test_bad_value_is_named_in_one_line(make_config: MakeConfig, name: str, value: str) -> None:
    with pytest.raises(ConfigError) as error:
        make_config(**{name: value})
    assert error.value.name == name
    assert name in str(error.value)
    assert value.strip() in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("support", "enabled", "expected"),
    [
        (None, None, "disabled"),
        ("ENABLED", None, "enabled"),
        ("preparing", "false", "preparing"),
        (None, "true", "enabled"),
        (None, "false", "disabled"),
        ("enabled", "true", "enabled"),
    ],
)
def test_both_names_of_exactly_once(
    make_config: MakeConfig, support: str | None, enabled: str | None, expected: str
) -> None:
    config = make_config(**{"exactly.once.source.support": support, "exactly.once.source.enabled": enabled})
    assert config.exactly_once_source_support == expected
    assert config.exactly_once_source_enabled is (expected == "enabled")


@pytest.mark.parametrize(("support", "enabled"), [("enabled", "false"), ("disabled", "true"), ("preparing", "true")])
def test_contradiction_is_an_error(make_config: MakeConfig, support: str, enabled: str) -> None:
    with pytest.raises(ConfigError, match=f"exactly.once.source.support={support}"):
        make_config(**{"exactly.once.source.support": support, "exactly.once.source.enabled": enabled})


def test_for_tasks_makes_a_config_again_without_spark_and_rest(make_config: MakeConfig) -> None:
    config = make_config(
        **{
            "spark.master": "local[4]",
            "rest.advertised.port": "1",
            "listeners": "http://:1",
            "producer.acks": "1",
            "task.channel.tls": "always",
        }
    )
    assert config.engine == EngineConfig({"spark.master": "local[4]"}, channel_tls="always")
    again = DistributedConfig(config.for_tasks())
    assert again.raw["producer.acks"] == "1"
    assert again.engine == EngineConfig()
    assert again.listeners == ("http://:8083",)
