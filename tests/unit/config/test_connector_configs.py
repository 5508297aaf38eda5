# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from headrace.api.config_def import Width
from headrace.api.errors import ConfigError
from headrace.api.source import TransactionBoundary
from headrace.config.connector_config import (
    KEY_CONVERTER,
    VALUE_CONVERTER,
    ConnectorConfig,
    DeadLetterQueue,
    ErrorHandling,
)
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.config.worker_config import WorkerConfig

BASE: dict[str, str | None] = {"name": "c", "connector.class": "FileStreamSource"}
SINK = BASE | {"connector.class": "FileStreamSink"}


def test_defaults() -> None:
    config = ConnectorConfig(BASE)
    assert (config.tasks_max, config.tasks_max_enforced, config.transforms, config.tolerates_errors) == (
        1,
        True,
        (),
        False,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tasks.max", "0"),
        ("tasks.max", "many"),
        ("tasks.max.enforce", "perhaps"),
        ("errors.tolerance", "some"),
        ("errors.tolerance", "ALL"),
        ("config.action.reload", "RESTART"),
        ("config.action.reload", "x"),
        ("errors.retry.timeout", "-2"),
        ("transforms", "a, a"),
        ("transforms", "a,,b"),
        ("name", "a\tb"),
        ("connector.class", ""),
    ],
)
def test_bad_value_is_named_in_one_line(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as error:
        ConnectorConfig(BASE | {name: value})
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["name", "connector.class"])
def test_missing_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f'"{name}"'):
        ConnectorConfig(BASE | {name: None})


def test_transformations_in_order_with_predicates() -> None:
    config = ConnectorConfig(
        BASE
        | {
            "transforms": "b, a",
            "transforms.a.type": "A",
            "transforms.a.field": "x",
            "transforms.b.type": "B",
            "transforms.b.predicate": "p",
            "transforms.b.negate": "true",
            "predicates": "p",
            "predicates.p.type": "P",
            "predicates.p.pattern": ".*",
        }
    )
    first, second = config.transforms
    assert (first.alias, first.type, first.predicate, first.negate, dict(first.config)) == ("b", "B", "p", True, {})
    assert (second.alias, second.predicate, second.negate, second.config) == ("a", None, False, {"field": "x"})
    assert [(each.alias, each.type, each.config) for each in config.predicates] == [("p", "P", {"pattern": ".*"})]


@pytest.mark.parametrize(
    ("props", "name"),
    [
        ({}, "transforms.t.type"),
        ({"transforms.t.type": "T", "transforms.t.predicate": "q"}, "transforms.t.predicate"),
        (
            {
                "transforms.t.type": "T",
                "transforms.t.predicate": "p",
                "transforms.t.negate": "so",
                "predicates": "p",
                "predicates.p.type": "P",
            },
            "transforms.t.negate",
        ),
        ({"transforms.t.type": "T", "transforms.t.negate": "false"}, "transforms.t.negate"),
    ],
)
def test_bad_transformation(props: dict[str, str | None], name: str) -> None:
    with pytest.raises(ConfigError) as error:
        ConnectorConfig(BASE | {"transforms": "t"} | props)
    assert error.value.name == name


def test_a_converter_takes_its_settings_from_where_it_is_named() -> None:
    worker = WorkerConfig({"key.converter": "W", "value.converter": "W", "value.converter.schemas.enable": "false"})
    config = ConnectorConfig(BASE | {"key.converter": "K", "key.converter.x": "1", "value.converter.y": "2"})
    assert config.converter(KEY_CONVERTER, worker) == ("K", {"x": "1"})
    assert config.converter(VALUE_CONVERTER, worker) == ("W", {"schemas.enable": "false"})


def test_source_defaults_and_boundaries() -> None:
    config = SourceConnectorConfig(BASE)
    assert config.transaction_boundary is TransactionBoundary.POLL
    assert (config.transaction_boundary_interval, config.offsets_topic, config.exactly_once_required) == (
        None,
        None,
        False,
    )
    config = SourceConnectorConfig(
        BASE
        | {"transaction.boundary": "INTERVAL", "transaction.boundary.interval.ms": "300", "offsets.storage.topic": "o"}
    )
    assert config.transaction_boundary is TransactionBoundary.INTERVAL
    assert (config.transaction_boundary_interval, config.offsets_topic) == (0.3, "o")
    assert SourceConnectorConfig(BASE | {"offsets.storage.topic": " "}).offsets_topic is None, "the worker's (KIP-618)"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transaction.boundary", "batch"),
        ("transaction.boundary.interval.ms", "0"),
        ("exactly.once.support", "please"),
    ],
)
def test_bad_source_value(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as error:
        SourceConnectorConfig(BASE | {name: value})
    assert error.value.name == name


def test_sink_topics() -> None:
    assert SinkConnectorConfig(SINK | {"topics": "a, b"}).topics == ("a", "b")
    by_regex = SinkConnectorConfig(SINK | {"topics.regex": "a.*"})
    assert by_regex.reads("ab")
    assert not by_regex.reads("ba")


@pytest.mark.parametrize(
    ("props", "name"),
    [
        ({}, "topics"),
        ({"topics": "a", "topics.regex": "b"}, "topics"),
        ({"topics": "a,,b"}, "topics"),
        ({"topics.regex": "("}, "topics.regex"),
        ({"topics": "a", "errors.deadletterqueue.topic.name": "a"}, "topics"),
        ({"topics.regex": "d.*", "errors.deadletterqueue.topic.name": "dlq"}, "topics.regex"),
    ],
)
def test_bad_sink(props: dict[str, str | None], name: str) -> None:
    with pytest.raises(ConfigError) as error:
        SinkConnectorConfig(SINK | props)
    assert error.value.name == name


def test_error_handling() -> None:
    assert ConnectorConfig(BASE).error_handling == ErrorHandling()
    given = {
        "errors.tolerance": "all",
        "errors.retry.timeout": "-1",
        "errors.retry.delay.max.ms": "1500",
        "errors.log.enable": "true",
        "errors.log.include.messages": "true",
    }
    assert ConnectorConfig(BASE | given).error_handling == ErrorHandling(True, None, 1.5, True, True)
    assert ConnectorConfig(BASE | {"errors.retry.timeout": "250"}).error_handling.retry_timeout == 0.25


@pytest.mark.parametrize(("config", "base"), [(SourceConnectorConfig, BASE), (SinkConnectorConfig, SINK)])
def test_dead_letter_queue(config: type[ConnectorConfig], base: dict[str, str | None]) -> None:
    base = base | {"topics": "t"}
    prefix = "errors.deadletterqueue."
    assert config(base).dead_letter_queue is None
    assert config(base | {prefix + "topic.name": ""}).dead_letter_queue is None
    named = base | {prefix + "topic.name": "dead"}
    assert config(named).dead_letter_queue == DeadLetterQueue("dead", 3, False)
    more = {prefix + "topic.replication.factor": "-1", prefix + "context.headers.enable": "true"}
    assert config(named | more).dead_letter_queue == DeadLetterQueue("dead", -1, True)
    bad = {"topic.name": "no such topic", "topic.replication.factor": "0", "context.headers.enable": "maybe"}
    for name, value in bad.items():
        with pytest.raises(ConfigError) as error:
            config(named | {prefix + name: value})
        assert (error.value.name, str(error.value.value)) == (prefix + name, value)


def test_dead_letters_beside_a_sources_offsets() -> None:
    with pytest.raises(ConfigError, match=r"it is the connector's offsets\.storage\.topic already"):
        SourceConnectorConfig(BASE | {"errors.deadletterqueue.topic.name": "o", "offsets.storage.topic": "o"})


def test_forms_are_javas() -> None:
    keys = SourceConnectorConfig.DEFINITION.config_keys
    placed = [(key.group, key.order_in_group) for key in keys.values()]
    assert len(set(placed)) == len(placed)
    assert all(key.group and key.display_name and key.width is not Width.NONE for key in keys.values())
    errors = [key.name for key in SourceConnectorConfig.DEFINITION.sorted_keys() if key.group == "Error Handling"]
    assert errors == [
        "errors.retry.timeout",
        "errors.retry.delay.max.ms",
        "errors.tolerance",
        "errors.log.enable",
        "errors.log.include.messages",
        "errors.deadletterqueue.topic.name",
        "errors.deadletterqueue.topic.replication.factor",
        "errors.deadletterqueue.context.headers.enable",
    ]
