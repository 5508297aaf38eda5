# SPDX-License-Identifier: Apache-2.0
"""Requests for writes of the config topic: each with its precondition, and the number of the request it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.config.session_key_config import SessionKeyRules
from headrace.model.auto_restart import RestartCount
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import OffsetsChange
from headrace.model.state import TargetState


@dataclass(frozen=True, slots=True)
class PutConnector:
    """Create or change a connector, for a user's request ``request``. A target state of None keeps the present one."""

    request: int
    name: str
    config: Config
    target_state: TargetState | None
    allow_replace: bool
    replaces: bool = False
    """True if there was such a connector when the write's turn came."""
    base: Config | None = None
    """The configuration that this one was made from, where that still has to be the newest one."""


@dataclass(frozen=True, slots=True)
class RemoveConnector:
    """Remove a connector; ``with_offsets`` also its offsets, as soon as its tasks have ended."""

    request: int
    name: str
    with_offsets: bool = False


@dataclass(frozen=True, slots=True)
class PutTargetState:
    """Start, pause or stop a connector."""

    request: int
    name: str
    state: TargetState


@dataclass(frozen=True, slots=True)
class PutRestart:
    """Have every worker restart its part of a connector; the config topic carries the request (KIP-745)."""

    request: int
    name: str
    only_failed: bool
    include_tasks: bool


@dataclass(frozen=True, slots=True)
class PutTaskRestart:
    """Have one task restarted, as ``PutRestart`` does."""

    request: int
    name: str
    task: int


@dataclass(frozen=True, slots=True)
class PutAutomaticRestart:
    """The leader's own request to restart a connector, or a task of it, if it is still FAILED where it runs.

    It is dropped unless ``replaces`` is still the present count: an operator may have restarted it meanwhile.
    """

    id: str | ConnectorTaskId
    count: RestartCount
    replaces: RestartCount | None = None

    @property
    def name(self) -> str:
        return self.id if isinstance(self.id, str) else self.id.connector


@dataclass(frozen=True, slots=True)
class PutTaskConfigs:
    """A connector's new task configs, in order; ``request`` is that of the follower that runs the connector."""

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
    """A note that the offsets of a connector that was removed with them are deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class PutSessionKey:
    """A new key to sign requests with, made by ``rules``, in place of the key ``replaces`` (KIP-507)."""

    replaces: SessionKey | None
    rules: SessionKeyRules


@dataclass(frozen=True, slots=True)
class PutLoggerLevel:
    """A logger's level, for all workers of the group (KIP-976)."""

    request: int
    logger: str
    level: str


OfNoConnector = PutSessionKey | PutLoggerLevel
UserWrite = PutConnector | RemoveConnector | PutTargetState | PutRestart | PutTaskRestart
WriteRequest = UserWrite | PutAutomaticRestart | PutTaskConfigs | PutTaskCount | PutOffsetsDeleted | OfNoConnector


def subject(write: WriteRequest) -> object:
    """Return what the write is about: the name of its connector, or what stands for a key or a logger.

    No write reads what one of another subject changes.
    """
    match write:
        case PutSessionKey():
            return PutSessionKey
        case PutLoggerLevel(logger=logger):
            return PutLoggerLevel, logger
        case _:
            return write.name


@dataclass(frozen=True, slots=True)
class OffsetsRequest:
    """A user's change of source or sink offsets: no write, but exclusive with the connector's writes."""

    request: int
    name: str
    change: OffsetsChange
