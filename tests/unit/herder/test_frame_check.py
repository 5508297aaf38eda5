# SPDX-License-Identifier: Apache-2.0
"""What connectors have Spark look at before they are created: when it is asked, and where its answer stands."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError
from headrace.api.frames import FrameJob
from headrace.config.distributed_config import DistributedConfig
from headrace.connectors.spark_table.spark_table_source import SparkTableSourceConnector
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.errors import BadRequestError
from headrace.plugins.discovery import Plugins

WORKER = {
    "bootstrap.servers": "localhost:1",
    "group.id": "g",
    **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
    **dict.fromkeys(("key.converter", "value.converter"), "StringConverter"),
}
FILE = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/f"}
TABLE = {
    **{"name": "c", "connector.class": "SparkTableSource", "topic": "t", "spark.format": "parquet", "path": "/t"},
    **{"mode": "incrementing", "incrementing.column": "id"},
}


def found(config: dict[str, str], expected: ConfigError | None = None) -> tuple[dict[str, list[str]], list[FrameJob]]:
    """What is wrong with each property, and the jobs that Spark, which answers ``expected``, was asked about."""
    asked: list[FrameJob] = []

    def analyse(job: FrameJob) -> ConfigError | None:
        asked.append(job)
        return expected

    validator = ConnectorValidator(DistributedConfig(WORKER), Plugins(), analyse=analyse)
    infos = validator.validate(config["connector.class"], dict(config))
    wrong = {info.value.name: list(info.value.errors) for info in infos.configs if info.value and info.value.errors}
    return wrong, asked


def test_spark_is_shown_what_a_sound_configuration_names() -> None:
    wrong, asked = found(TABLE)
    assert wrong == {}
    assert [(job.function, job.settings["path"]) for job in asked] == [
        ("headrace.connectors.spark_table.spark_table_frames:check", "/t")
    ]


@pytest.mark.parametrize(
    ("expected", "property"),
    [(ConfigError.invalid("incrementing.column", "id", "no such column"), "incrementing.column"),
     (ConfigError("Spark is cross"), "connector.class")],
)  # fmt: skip
def test_its_answer_stands_beside_the_property_that_it_names(expected: ConfigError, property: str) -> None:
    assert found(TABLE, expected)[0] == {property: [str(expected)]}


@pytest.mark.parametrize("config", [FILE, TABLE | {"mode": "bulk"}, TABLE | {"tasks.max": "many"}])
def test_it_is_not_asked_of_what_is_wrong_anyway_or_asks_for_nothing(config: dict[str, str]) -> None:
    assert found(config, ConfigError("never reported"))[1] == []


def test_what_a_connector_refuses_is_a_bad_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, configs: object) -> FrameJob:
        raise ConfigError("cannot be")

    monkeypatch.setattr(SparkTableSourceConnector, "frame_check", refuse)
    with pytest.raises(BadRequestError, match="frame_check refused the configuration: cannot be"):
        found(TABLE)
