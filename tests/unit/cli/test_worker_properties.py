# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.cli import worker_properties
from headrace.cli.worker_properties import check_worker_properties, log_unused_properties
from headrace.config.distributed_config import DistributedConfig
from headrace.config.properties_file import read_properties
from headrace.config.standalone_config import StandaloneConfig
from headrace.config.worker_config import WorkerConfig

EXAMPLES = Path(__file__).parents[3] / "examples"
WORKER = dict(read_properties(EXAMPLES / "worker.properties"))
Unused = Callable[[WorkerConfig], list[str]]


def check(**more: str) -> None:
    check_worker_properties(DistributedConfig, WORKER | more)


@pytest.fixture
def unused(caplog: pytest.LogCaptureFixture) -> Unused:
    """Returns the lines that are logged of a worker's properties."""

    def logged(config: WorkerConfig) -> list[str]:
        log_unused_properties(config)
        return [record.getMessage() for record in caplog.records if record.name == worker_properties.__name__]

    return logged


@pytest.mark.parametrize(
    ("file", "kind"), [("worker.properties", DistributedConfig), ("standalone.properties", StandaloneConfig)]
)
def test_the_examples_have_no_mistakes(file: str, kind: type[WorkerConfig], unused: Unused) -> None:
    properties = read_properties(EXAMPLES / file)
    check_worker_properties(kind, properties)
    assert not unused(kind(properties))


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("exactly.once.source.suport", "exactly.once.source.support"),
        ("exactly.once.sources.enable", "exactly.once.source.enabled"),
        ("securty.protocol", "security.protocol"),
        ("sasl.mechanisms", "sasl.mechanism"),
        ("offset.storage.topci", "offset.storage.topic"),
        ("producer.compresion.type", "producer.compression.type"),
        ("listeners.https.ssl.keystore.locaton", "listeners.https.ssl.keystore.location"),
        ("rest.authentification", "rest.authentication"),
        ("listenrs", "listeners"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_one_that_was_meant(wrong: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"^There is no property {wrong}; did you mean '{meant}'\?$"):
        check(**{wrong: "x"})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("metric.reporters", "metrics are served at GET /metrics"),
        ("interceptor.classes", "clients have no interceptors"),
        ("plugin.discovery", "Python plugins are found by entry points"),
        ("rest.port", "the REST API listens where listeners says"),
        ("offset.storage.file.filename", "only headrace standalone uses it"),
        ("my.own.property", "there is no such property"),
    ],
)
def test_names_without_effect_are_logged(name: str, reason: str, unused: Unused) -> None:
    check(**{name: "x"})
    [line] = unused(DistributedConfig(WORKER | {name: "x"}))
    assert line.startswith(f"The worker's property {name} has no effect: {reason}")


def test_a_groups_properties_have_no_effect_on_a_standalone_worker(unused: Unused) -> None:
    lines = unused(
        StandaloneConfig({**WORKER, "exactly.once.source.support": None, "offset.storage.file.filename": "f"})
    )
    assert "The worker's property group.id has no effect: only headrace distributed uses it" in lines


@pytest.mark.parametrize(
    "name",
    [
        *("spark.executor.memory", "producer.queue.buffering.max.kbytes", "admin.retries", "ssl.client.auth"),
        *("config.providers.file.class", "key.converter.schemas.enable", "config.storage.min.insync.replicas"),
        *("listeners.https.ssl.client.auth", "sasl.jaas.config", "client.dns.lookup", "retry.backoff.ms"),
    ],
)
def test_names_that_clients_topics_plugins_and_spark_read_are_accepted(name: str, unused: Unused) -> None:
    check(**{name: "x"})
    assert not unused(DistributedConfig(WORKER | {name: "x"}))


def test_all_mistakes_are_in_one_message() -> None:
    properties: dict[str, str | None] = {**WORKER, "group.id": None, "offset.flush.interval.ms": "often"}
    with pytest.raises(ConfigError) as refused:
        check_worker_properties(DistributedConfig, {**properties, "group.ids": "g"})
    text = str(refused.value)
    assert text.startswith("The worker's properties have 3 mistakes: (1) ")
    for part in ("offset.flush.interval.ms", '"group.id" which has no default', "group.ids; did you mean 'group.id'?"):
        assert part in text
