# SPDX-License-Identifier: Apache-2.0
"""The reasons for which a connector's configuration is refused, and their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headrace.api.config_def import ConfigDef, ConfigValue, Type
from headrace.api.connector import Task
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.source import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from headrace.config.distributed_config import DistributedConfig
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.errors import BadRequestError
from headrace.plugins.discovery import Plugins

WORKER = {
    "group.id": "g",
    "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}


class Picky(SourceConnector):
    """Its answers are class attributes, for the tests to set."""

    support: ExactlyOnceSupport | None = None
    boundaries = ConnectorTransactionBoundaries.UNSUPPORTED
    broken: Exception | None = None

    def config(self) -> ConfigDef:
        return ConfigDef().define("size", Type.INT, 1).define("place", Type.STRING)

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        if self.broken is not None:
            raise self.broken
        return super().validate(configs)

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return self.support

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        return self.boundaries

    def start(self, props: Mapping[str, str]) -> None: ...

    def task_class(self) -> type[Task]:
        raise NotImplementedError

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return []

    def stop(self) -> None: ...


class Unfinished(SourceConnector):
    def start(self, props: Mapping[str, str]) -> None: ...

    def stop(self) -> None: ...


class PickyPlugins(Plugins):
    """The real plugins, and two more."""

    def connector(self, name: str, property: str = "connector.class") -> Any:
        own = {"Picky": Picky, "Unfinished": Unfinished}
        return own[name] if name in own else super().connector(name, property)


def check(config: Mapping[str, str | None], name: str = "c", **worker: str) -> dict[str, str | None]:
    dotted = {key.replace("_", "."): value for key, value in worker.items()}
    return ConnectorValidator(DistributedConfig({**WORKER, **dotted}), PickyPlugins()).check(name, config).config


def picky(**more: str) -> dict[str, str]:
    dotted = {key.replace("_", "."): value for key, value in more.items()}
    return {"connector.class": "Picky", "place": "here", **dotted}


def refusal(config: Mapping[str, str | None], **worker: str) -> str:
    with pytest.raises(BadRequestError) as caught:
        check(config, **worker)
    return str(caught.value)


def test_a_sound_configuration_is_kept_as_written_with_its_name() -> None:
    given: dict[str, str | None] = {**picky(), "other": "1", "place": " here "}
    assert list(check(given).items()) == [*given.items(), ("name", "c")]
    assert check({**picky(), "name": "c"})["name"] == "c"


def test_another_name_within_is_refused() -> None:
    assert "(d) doesn't match connector name in the request (c)" in refusal({**picky(), "name": "d"})


def test_all_errors_are_reported_together_as_java_shows_them() -> None:
    config = {"connector.class": "Picky", "tasks.max": "0", "size": "big"}
    head, message = refusal(config).split(": ", 1)
    assert head == "Connector configuration is invalid and contains the following 3 error(s)"
    errors = message.split("; ")
    assert "\n" not in message
    assert {error.split(" configuration ")[-1].split()[0].strip(':"') for error in errors} == {
        "tasks.max", "size", "place"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [("policy", "always"), ("max.attempts", "-1"), ("max.attempts", "many"), ("max.attempts", "1000001")],
)
def test_rules_of_automatic_restarts_are_checked(name: str, value: str) -> None:
    assert f"Invalid value '{value}' for configuration tasks.restart.{name}" in refusal(
        {**picky(), f"tasks.restart.{name}": value}
    )
    with pytest.raises(ConfigError, match=f"configuration tasks.restart.{name}"):
        check(picky(), **{f"tasks.restart.{name}": value})


@pytest.mark.parametrize("config", [{}, {"connector.class": " "}, {"connector.class": None}])
def test_a_missing_class_is_named(config: Mapping[str, str | None]) -> None:
    assert "connector.class" in refusal(config)


@pytest.mark.parametrize("connector", [picky(), {"connector.class": "SingerSource"}])
def test_a_command_is_one_that_the_worker_allows(connector: Mapping[str, str]) -> None:
    config = {**connector, "singer.command": "tap-x --secret y"}
    for worker in ({}, {"singer_commands_allowed": "tap-y"}):
        message = refusal(config, **worker)
        assert "contains the following 1 error(s): Invalid value 'tap-x' for configuration singer.command: " in message
        assert (
            "connector c may not start this program: the worker's singer.commands.allowed does not have it" in message
        )
    assert check(config, singer_commands_allowed="tap-y, tap-x")["singer.command"] == "tap-x --secret y"


def test_methods_that_a_connector_lacks_are_named() -> None:
    expected = "Connector class Unfinished lacks methods that a connector has to have: config, task_class, task_configs"
    assert refusal({"connector.class": "Unfinished"}) == expected


def test_an_unknown_class_is_answered_with_the_nearest() -> None:
    assert "FileStreamSource" in refusal({"connector.class": "FileStreamSorce"})


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"value.converter": "JsonConverte"}, "JsonConverter"),
        ({"transforms": "a"}, "transforms.a.type"),
        ({"transforms": "a", "transforms.a.type": "NoSuch"}, "transforms.a.type"),
        (
            {"topic.creation.default.partitions": "x", "topic.creation.default.replication.factor": "1"},
            "topic.creation.default.partitions",
        ),
        ({"producer.override.sasl.kerberos.kinit.cmd": "k"}, "producer.override.sasl.kerberos.kinit.cmd"),
        ({"transaction.boundary": "sometimes"}, "transaction.boundary"),
    ],
)
def test_what_only_shows_in_combination_is_reported_too(more: dict[str, str], expected: str) -> None:
    assert expected in refusal({**picky(), **more})


@pytest.mark.parametrize(
    ("support", "enabled", "expected"),
    [
        (ExactlyOnceSupport.SUPPORTED, "disabled", "does not have exactly-once source support enabled"),
        (None, "enabled", "does not state whether"),
        (ExactlyOnceSupport.UNSUPPORTED, "enabled", "does not support exactly-once semantics"),
    ],
)
def test_required_exactly_once_needs_consent(
    monkeypatch: pytest.MonkeyPatch, support: ExactlyOnceSupport | None, enabled: str, expected: str
) -> None:
    monkeypatch.setattr(Picky, "support", support)
    worker = {"exactly_once_source_support": enabled}
    assert expected in refusal(picky(exactly_once_support="required"), **worker)
    check(picky(exactly_once_support="requested"), **worker)


def test_required_exactly_once_with_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picky, "support", ExactlyOnceSupport.SUPPORTED)
    check(picky(exactly_once_support="required"), exactly_once_source_support="enabled")


def test_boundaries_of_the_connectors_own_need_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(picky(transaction_boundary="connector"))
    assert "does not support connector-defined transaction boundaries" in message
    monkeypatch.setattr(Picky, "boundaries", ConnectorTransactionBoundaries.SUPPORTED)
    check(picky(transaction_boundary="connector"))


def test_what_a_connector_refuses_is_the_users_and_what_breaks_is_the_connectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Picky, "broken", ConnectError("no such place"))
    assert "no such place" in refusal(picky())
    monkeypatch.setattr(Picky, "broken", KeyError("oops"))
    with pytest.raises(ConnectError, match=r"Picky.validate failed: KeyError") as caught:
        check(picky())
    assert not isinstance(caught.value, BadRequestError)
