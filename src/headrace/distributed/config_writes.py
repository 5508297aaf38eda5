# SPDX-License-Identifier: Apache-2.0
"""Changes of the config topic, as they wait for the leader to make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.model.cluster_config_state import Config
from headrace.model.state import TargetState


@dataclass(frozen=True, slots=True)
class PutConnector:
    """A user's request ``request``; None as a target state leaves the one there is."""

    request: int
    name: str
    config: Config
    target_state: TargetState | None
    allow_replace: bool
    replaces: bool = False
    """Whether there was such a connector when its turn came."""


@dataclass(frozen=True, slots=True)
class RemoveConnector:
    request: int
    name: str


@dataclass(frozen=True, slots=True)
class PutTargetState:
    request: int
    name: str
    state: TargetState


@dataclass(frozen=True, slots=True)
class PutTaskConfigs:
    """What a connector has made for its tasks, in order."""

    name: str
    configs: Sequence[Config]


@dataclass(frozen=True, slots=True)
class PutTaskCount:
    """The task count record for ``generation`` of the connector's task configs (KIP-618)."""

    name: str
    generation: int
    tasks: int


UserWrite = PutConnector | RemoveConnector | PutTargetState
ConfigWrite = UserWrite | PutTaskConfigs | PutTaskCount
