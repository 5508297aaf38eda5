# SPDX-License-Identifier: Apache-2.0
"""What a connector says of the topics that its tasks make, as Java understands it."""

from __future__ import annotations

import pytest

from headrace.api.errors import ConfigError
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.config.topic_creation import topic_creation_definition, topic_groups

DEFAULT: dict[str, str | None] = {
    "topic.creation.default.partitions": "3",
    "topic.creation.default.replication.factor": "-1",
}


def test_groups_have_their_numbers_from_the_default_and_other_settings_of_their_own() -> None:
    logs, default = topic_groups(
        {
            **DEFAULT,
            "name": "c",
            "topic.creation.groups": "logs, default",
            "topic.creation.default.retention.ms": "5",
            "topic.creation.logs.include": "log.*,audit",
            "topic.creation.logs.exclude": "log-x",
            "topic.creation.logs.partitions": "9",
            "topic.creation.logs.cleanup.policy": "compact",
        }
    )
    assert (logs.name, logs.partitions, logs.replication_factor, logs.config) == (
        "logs", 9, -1, {"cleanup.policy": "compact"}
    )  # fmt: skip
    assert [topic for topic in ("log-a", "log-x", "audit", "my-log") if logs.matches(topic)] == ["log-a", "audit"]
    assert (default.name, default.partitions, default.replication_factor, default.config) == (
        "default", 3, -1, {"retention.ms": "5"}
    )  # fmt: skip


def test_the_default_group_takes_whatever_it_says() -> None:
    (default,) = topic_groups(
        {**DEFAULT, "topic.creation.default.include": "a(", "topic.creation.default.exclude": "b"}
    )
    assert default.matches("a") and default.matches("b") and default.config == {}


def test_a_group_without_patterns_has_no_topics() -> None:
    empty, _ = topic_groups({**DEFAULT, "topic.creation.groups": "empty"})
    assert not empty.matches("t")


def test_without_any_of_its_properties_nothing_is_made() -> None:
    assert topic_groups({"name": "c"}) == ()
    assert topic_creation_definition({"name": "c"}).names == []


@pytest.mark.parametrize(
    ("props", "name"),
    [
        ({"topic.creation.default.partitions": "1"}, "topic.creation.default.replication.factor"),
        ({"topic.creation.groups": ""}, "topic.creation.default.replication.factor"),
        ({**DEFAULT, "topic.creation.default.replication.factor": "0"}, "topic.creation.default.replication.factor"),
        ({**DEFAULT, "topic.creation.default.partitions": "many"}, "topic.creation.default.partitions"),
        ({**DEFAULT, "topic.creation.groups": "g", "topic.creation.g.include": "("}, "topic.creation.g.include"),
        ({**DEFAULT, "topic.creation.groups": "g", "topic.creation.g.exclude": "["}, "topic.creation.g.exclude"),
        ({**DEFAULT, "topic.creation.groups": "g", "topic.creation.g.partitions": "-2"}, "topic.creation.g.partitions"),
    ],
)
def test_what_cannot_be_is_named(props: dict[str, str | None], name: str) -> None:
    with pytest.raises(ConfigError) as error:
        topic_groups(props)
    assert error.value.name == name
    # The worker may have switched all of that off, and then it is not checked.
    SourceConnectorConfig({"name": "c", "connector.class": "X", **props})
