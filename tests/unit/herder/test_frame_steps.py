# SPDX-License-Identifier: Apache-2.0
"""Steps on frames in a connector's configuration: what is refused before Spark is asked, and what Spark says."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError
from headrace.api.frames import FrameJob
from headrace.api.record_frames import OFFSETS
from headrace.config.distributed_config import DistributedConfig
from headrace.herder.connector_validation import ConnectorValidator
from headrace.plugins.discovery import Plugins

WORKER = {
    "bootstrap.servers": "localhost:1",
    "group.id": "g",
    **{f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")},
    **dict.fromkeys(("key.converter", "value.converter"), "StringConverter"),
}
SOURCE = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/f", "transforms": "q"}
SINK = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "file": "/tmp/f", "transforms": "q"}
SQL = {"transforms.q.type": "SparkSql", "transforms.q.query": "SELECT * FROM records"}


def found(config: dict[str, str], expected: str | None = None) -> tuple[dict[str, list[str]], list[FrameJob]]:
    """What is wrong with each property, and the jobs that Spark, which answers ``expected``, was asked about."""
    asked: list[FrameJob] = []

    def analyse(job: FrameJob) -> ConfigError | None:
        asked.append(job)
        return None if expected is None else ConfigError(expected)

    validator = ConnectorValidator(DistributedConfig(WORKER), Plugins(module_prefixes=("tests",)), analyse=analyse)
    infos = validator.validate(config["connector.class"], dict(config))
    wrong = {info.value.name: list(info.value.errors) for info in infos.configs if info.value and info.value.errors}
    return wrong, asked


def test_a_sound_step_is_shown_to_spark() -> None:
    wrong, asked = found(SOURCE | SQL)
    assert wrong == {}
    assert [job.settings["query"] for job in asked] == ["SELECT * FROM records"]


def test_spark_learns_that_a_sinks_records_have_offsets() -> None:
    wrong, asked = found(SINK | SQL)
    assert wrong == {}
    assert [OFFSETS in job.settings for job in asked] == [True]
    assert [OFFSETS in job.settings for job in found(SOURCE | SQL)[1]] == [False]


def test_sparks_words_stand_beside_the_query() -> None:
    wrong, _ = found(SOURCE | SQL, "[PARSE_SYNTAX_ERROR] line 1, pos 9")
    [error] = wrong["transforms.q.query"]
    assert error.endswith("for configuration transforms.q.query: [PARSE_SYNTAX_ERROR] line 1, pos 9")


@pytest.mark.parametrize(
    ("config", "name", "expected"),
    [
        (SINK | SQL | {"transforms.q.functions": "os:system"}, "transforms.q.functions", "imports nothing from"),
        (SOURCE | SQL | {"transforms.q.query": ""}, "transforms.q.query", ""),
        (SOURCE | SQL | {"transforms.q.functions": "os:system"}, "transforms.q.functions", "imports nothing from"),
        (SOURCE | SQL | {"transforms.q.functions": "tests"}, "transforms.q.functions", "must be module:function"),
        (SOURCE | SQL | {"transforms.q.table.t": "csv"}, "transforms.q.table.t", "must be like format:csv"),
        (
            SOURCE | SQL | {"transforms.q.predicate": "p", "predicates": "p", "predicates.p.type": "RecordIsTombstone"},
            "transforms.q.predicate",
            "a step on frames has no predicate",
        ),
    ],
)
def test_what_cannot_be_is_refused_unasked(config: dict[str, str], name: str, expected: str) -> None:
    wrong, asked = found(config)
    assert list(wrong) == [name] and expected in wrong[name][0]
    assert asked == []


def test_a_function_is_a_step_by_its_name() -> None:
    function = {"transforms.q.type": "tests.plugins.listed_source.loud"}
    assert found(SOURCE | function) == ({}, [])
    _, asked = found(SOURCE | function | {"transforms.q.value.schema": "STRING"})
    assert len(asked) == 1
    wrong, _ = found(SOURCE | {"transforms.q.type": "os.getcwd"})
    assert "imports none from module os" in wrong["transforms.q.type"][0]
