# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.errors import ConfigError
from headrace.config import client_configs
from headrace.config.standalone_config import StandaloneConfig

PROPS = {
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "offset.storage.file.filename": "/tmp/offsets",
}


def test_what_it_says() -> None:
    config = StandaloneConfig(PROPS | {"group.id": "of no use", "exactly.once.source.support": "disabled"})
    assert config.offsets_file == Path("/tmp/offsets")
    assert config.group_id is None
    assert config.offset_topic is None
    assert not config.exactly_once_source_enabled


@pytest.mark.parametrize("name", [*PROPS])
def test_what_has_to_be_said(name: str) -> None:
    for props in ({key: text for key, text in PROPS.items() if key != name}, PROPS | {name: " "}):
        with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
            StandaloneConfig(props)


@pytest.mark.parametrize(
    ("name", "value"), [("exactly.once.source.support", "Enabled"), ("exactly.once.source.enabled", " true")]
)
def test_a_guarantee_that_is_not_given_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{name.replace('.', '[.]')}: .*at-least-once.*headrace distributed"):
        StandaloneConfig(PROPS | {name: value})


def test_clients_are_those_of_a_worker_without_a_group() -> None:
    config = StandaloneConfig(PROPS | {"client.id": "w", "producer.linger.ms": "5", "exactly.once.source.support": ""})
    producer = client_configs.source_task_producer(config, {"name": "c"}, 1)
    assert producer["client.id"] == "connector-producer-c-1"
    assert producer["linger.ms"] == "5"
    assert "transactional.id" not in producer
    assert client_configs.admin(config)["client.id"] == "w-shared-admin"
