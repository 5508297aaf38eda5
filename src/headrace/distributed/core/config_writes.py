# SPDX-License-Identifier: Apache-2.0
"""Requests for writes of the config topic: each with its precondition, and the number of the request it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.distributed.core.session_keys import SessionKeyRules
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.offsets import OffsetsChange
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
    base: Config | None = None
    """The configuration that this one was made from, where it has to be the newest one still."""


@dataclass(frozen=True, slots=True)
class RemoveConnector:
    """``with_offsets``: its offsets go as well, as soon as its tasks are gone."""

    request: int
    name: str
    with_offsets: bool = False


@dataclass(frozen=True, slots=True)
class PutTargetState:
    request: int
    name: str
    state: TargetState


@dataclass(frozen=True, slots=True)
class PutRestart:
    """Every worker hears of it through the config topic and restarts what it has of the connector (KIP-745)."""

    request: int
    name: str
    only_failed: bool
    include_tasks: bool


@dataclass(frozen=True, slots=True)
class PutTaskRestart:
    """As ``PutRestart``, of one task alone."""

    request: int
    name: str
    task: int


@dataclass(frozen=True, slots=True)
class PutTaskConfigs:
    """What a connector has made for its tasks, in order; ``request`` is that of a follower who has the connector."""

    name: str
    configs: Sequence[Config]
    request: int | None = None


@dataclass(frozen=True, slots=True)
class PutTaskCount:
    """The task count record for ``generation`` of the connector's task configs (KIP-618)."""

    name: str
    generation: int
    tasks: int


@dataclass(frozen=True, slots=True)
class PutOffsetsDeleted:
    """The offsets of a connector that was removed with them are gone."""

    name: str


@dataclass(frozen=True, slots=True)
class PutSessionKey:
    """A new key to sign requests with, by ``rules``, in the place of ``replaces`` (KIP-507)."""

    replaces: SessionKey | None
    rules: SessionKeyRules


@dataclass(frozen=True, slots=True)
class PutLoggerLevel:
    """A logger's level, for every worker that hears of it (KIP-976)."""

    request: int
    logger: str
    level: str


OfNoConnector = PutSessionKey | PutLoggerLevel
UserWrite = PutConnector | RemoveConnector | PutTargetState | PutRestart | PutTaskRestart
WriteRequest = UserWrite | PutTaskConfigs | PutTaskCount | PutOffsetsDeleted | OfNoConnector


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """A user's wish for other source or sink offsets; no write of the config topic, but one that excludes others."""

    request: int
    name: str
    change: OffsetsChange
