# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.config.distributed_config import DistributedConfig

MakeConfig = Callable[..., DistributedConfig]


@pytest.fixture
def worker_props() -> dict[str, str]:
    return {
        "bootstrap.servers": "broker:9092",
        "group.id": "g",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        "config.storage.topic": "configs",
        "offset.storage.topic": "offsets",
        "status.storage.topic": "statuses",
    }


@pytest.fixture
def make_config(worker_props: dict[str, str]) -> MakeConfig:
    """A distributed worker's configuration; properties in **{...} are added, None takes one away."""

    def make(**changes: str | None) -> DistributedConfig:
        merged: dict[str, str | None] = {**worker_props, **changes}
        return DistributedConfig({key: value for key, value in merged.items() if value is not None})

    return make
