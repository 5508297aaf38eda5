# SPDX-License-Identifier: Apache-2.0
"""Validations and definitions side by side with those of Java Connect: tests/vectors-rest."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from headrace.config.distributed_config import DistributedConfig
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.plugins.discovery import Plugins

STRING = "org.apache.kafka.connect.storage.StringConverter"
WORKER = {
    "group.id": "g",
    "key.converter": STRING,
    "value.converter": STRING,
    "exactly.once.source.support": "enabled",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}
VALIDATOR = ConnectorValidator(DistributedConfig(WORKER), Plugins())
OWN = {
    "connector.java.options",
    "errors.deadletterqueue.topic.name",
    "errors.deadletterqueue.topic.replication.factor",
    "errors.deadletterqueue.context.headers.enable",
    "frame.job.timeout.ms",
    "spark.task.isolation",
    "task.stalled.timeout.ms",
    "tasks.per.process",
    "tasks.restart.max.attempts",
    "tasks.restart.policy",
}
"""Ours: sources can have a dead letter topic too, connectors work on frames, in a JVM of their own if they like, are
restarted by themselves, and have options of the JVM of tasks in Java."""

# Errors that are reported in other words, or that only one of the two finds.
OURS = {
    "bad": {"producer.override.acks"},  # Java finds out when the task starts
    "null": {"batch.size"},  # Java loses this one: FileStreamSource validates the property again
}
JAVAS: dict[str, set[str]] = {"duplicates": {"transforms..type", "transforms..plugin.version"}}
REWORDED = {
    *("transforms.cast.spec", "predicates.p.pattern", "value.converter.schemas.enable", "other", "transforms"),
    *("transaction.boundary", "exactly.once.support", "value.converter", "transforms.a.type"),
}


def load(file: str) -> list[Any]:
    text = (Path(__file__).parents[2] / "vectors-rest" / file).read_text(encoding="utf-8")
    recorded = [json.loads(line) for line in text.rstrip("\n").split("\n")]
    return [pytest.param(vector, id=vector["id"]) for vector in recorded]


def definition(key: dict[str, Any]) -> dict[str, Any]:
    """What has to be the same: all but texts, and versions, which are each engine's own."""
    dropped = {"documentation"} | ({"default_value"} if key["name"].endswith("plugin.version") else set())
    return {name: value for name, value in key.items() if name not in dropped}


def values(answer: dict[str, Any]) -> dict[str, Any]:
    return {config["value"]["name"]: config["value"] for config in answer["configs"]}


def definitions(answer: dict[str, Any]) -> dict[str, Any]:
    keys = [config["definition"] for config in answer["configs"] if config["definition"]]
    return {key["name"]: definition(key) for key in keys}


def unquoted(message: str) -> str:
    return message.replace("value '", "value ").replace("' for", " for")


def as_json(infos: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(json.dumps(asdict(infos)))
    return answer


@pytest.mark.parametrize("vector", load("validate.jsonl"))
def test_validate(vector: dict[str, Any]) -> None:
    if vector["status"] != 200:
        with pytest.raises(BadRequestError):  # where Java answers 500 too
            VALIDATOR.validate(vector["plugin"], vector["config"])
        return
    id, java = vector["id"], vector["answer"]
    ours = as_json(VALIDATOR.validate(vector["plugin"], vector["config"]))
    assert ours["name"] == java["name"]
    assert sorted(ours["groups"]) == sorted(group for group in java["groups"] if group != "Transforms: ")
    skipped = JAVAS.get(id, set())
    expected = {name: key for name, key in definitions(java).items() if name not in skipped}
    actual = {name: key for name, key in definitions(ours).items() if name not in OWN}
    assert actual == expected
    for name, answer_of_java in values(java).items():
        if name not in skipped | OURS.get(id, set()):
            assert_value(values(ours)[name], answer_of_java)
    refused_by_ours = {name for name, value in values(ours).items() if value["errors"]}
    refused_by_java = {name for name, value in values(java).items() if value["errors"]}
    assert refused_by_ours == refused_by_java - skipped | OURS.get(id, set())


def assert_value(ours: dict[str, Any], java: dict[str, Any]) -> None:
    name = ours["name"]
    assert len(ours["errors"]) == len(java["errors"]), name
    if name not in REWORDED:
        assert [unquoted(message) for message in ours["errors"]] == java["errors"]
    if not name.endswith("plugin.version"):
        assert ours["visible"] == java["visible"]
        assert ours["value"] == java["value"]
        assert set(java["recommended_values"]) - set(ours["recommended_values"]) == set()


@pytest.mark.parametrize("vector", load("plugin_config.jsonl"))
def test_plugin_config(vector: dict[str, Any]) -> None:
    plugin, java = vector["plugin"], vector["answer"]
    if vector["status"] == 400:
        with pytest.raises(BadRequestError) as refused:
            VALIDATOR.plugin_config(plugin)
        assert str(refused.value) == java["message"]
    elif vector["status"] == 404 and plugin != "Cast$Value":  # a short name that Java has for no use but this one
        with pytest.raises(NotFoundError) as missing:
            VALIDATOR.plugin_config(plugin)
        assert str(missing.value) == java["message"]
    elif vector["status"] == 200:
        ours = {key.name: definition(json.loads(json.dumps(asdict(key)))) for key in VALIDATOR.plugin_config(plugin)}
        expected = {key["name"]: definition(key) for key in java}
        # The list's order is the plugin's own properties first; Java's VerifiableSource defines none of its own.
        more = OWN | ({"topic", "throughput", "id", "complete.record.data"} if "Verifiable" in plugin else set())
        assert list({name: key for name, key in ours.items() if name not in more}.items()) == list(expected.items())
