# SPDX-License-Identifier: Apache-2.0
"""The configuration of a distributed worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import CaseInsensitiveValidString, LambdaValidator, NonEmptyString, Range
from headrace.config.worker_config import WorkerConfig

GROUP_ID: Final = "group.id"
SUPPORT: Final = "exactly.once.source.support"
ENABLED: Final = "exactly.once.source.enabled"
_SETTINGS_OF_OURS: Final = frozenset({"topic", "partitions", "replication.factor"})
_FIXED_SETTINGS: Final = frozenset({"cleanup.policy"})


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """One of the worker's topics: partitions and replication factor of -1 are the brokers' defaults."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]


def _check_count(name: str, value: int) -> None:
    if value != -1 and value < 1:
        raise ConfigError.invalid(name, value, "Value must be at least 1, or -1 for the brokers' default")


_COUNT: Final = LambdaValidator(_check_count, lambda: "-1 or [1,...]")


def _define_topic(definition: ConfigDef, kind: str, what: str, partitions: int | None) -> None:
    high, low = Importance.HIGH, Importance.LOW
    definition.define(f"{kind}.storage.topic", Type.STRING, importance=high, validator=NonEmptyString(),
                      doc=f"Topic that keeps {what}; the same for all workers of a group.")  # fmt: skip
    definition.define(f"{kind}.storage.replication.factor", Type.SHORT, 3, importance=low, validator=_COUNT,
                      doc=f"Replication factor of the topic that keeps {what}, when it is created.")  # fmt: skip
    if partitions is not None:
        definition.define(f"{kind}.storage.partitions", Type.INT, partitions, importance=low, validator=_COUNT,
                          doc=f"Partitions of the topic that keeps {what}, when it is created.")  # fmt: skip


def _distributed_def() -> ConfigDef:
    high, low = Importance.HIGH, Importance.LOW
    positive, natural = Range.at_least(1), Range.at_least(0)
    definition = (
        ConfigDef(WorkerConfig.DEFINITION)
        .define(GROUP_ID, Type.STRING, importance=high, validator=NonEmptyString(),
                doc="The group of workers that this one belongs to.")
        .define("session.timeout.ms", Type.INT, 10000, importance=high, validator=positive,
                doc="After so long without a heartbeat the group takes a worker for dead.")
        .define("heartbeat.interval.ms", Type.INT, 3000, importance=high, validator=positive,
                doc="Time between heartbeats; at most a third of session.timeout.ms.")
        .define("rebalance.timeout.ms", Type.INT, 60000, importance=high, validator=positive,
                doc="How long a worker may take to join a rebalance.")
        .define("worker.sync.timeout.ms", Type.INT, 3000, importance=Importance.MEDIUM, validator=natural,
                doc="How long a worker that lags behind tries to catch up with the config topic before it leaves.")
        .define("worker.unsync.backoff.ms", Type.INT, 300000, importance=Importance.MEDIUM, validator=natural,
                doc="How long a worker that could not catch up waits before it joins again.")
        .define("connect.protocol", Type.STRING, "sessioned", importance=low,
                validator=CaseInsensitiveValidString("eager", "compatible", "sessioned"),
                doc="The rebalance protocol.")
        .define("scheduled.rebalance.max.delay.ms", Type.INT, 300000, importance=low, validator=natural,
                doc="How long the work of a lost worker waits for its return.")
        .define(SUPPORT, Type.STRING, "disabled", importance=high,
                validator=CaseInsensitiveValidString("disabled", "preparing", "enabled"),
                doc="Exactly-once for source connectors (KIP-618). Go through preparing on all workers first.")
        .define(ENABLED, Type.BOOLEAN, None, importance=high,
                doc="The same in the words of KIP-618's text: true is enabled, false is not.")
    )  # fmt: skip
    _define_topic(definition, "config", "the configurations of connectors", None)
    _define_topic(definition, "offset", "source offsets", 25)
    _define_topic(definition, "status", "the statuses of connectors and tasks", 5)
    return definition


class DistributedConfig(WorkerConfig):
    """Java: ``DistributedConfig``."""

    DEFINITION = _distributed_def()

    def __init__(self, props: Mapping[str, str | None]) -> None:
        super().__init__(props)
        support, enabled = self.exactly_once_source_support, self.get(ENABLED)
        if SUPPORT in self.raw and enabled is not None and enabled != (support == "enabled"):
            raise ConfigError.invalid(
                ENABLED, self.raw[ENABLED], f"it contradicts {SUPPORT}={self.raw[SUPPORT]}; give only one of them"
            )
        if self.get("heartbeat.interval.ms") >= self.get("session.timeout.ms"):
            raise ConfigError.invalid(
                "heartbeat.interval.ms",
                self.get("heartbeat.interval.ms"),
                f"it must be lower than session.timeout.ms={self.get('session.timeout.ms')}",
            )

    @property
    def group_id(self) -> str:
        return str(self.get(GROUP_ID))

    @property
    def exactly_once_source_support(self) -> str:
        """disabled, preparing or enabled."""
        if SUPPORT not in self.raw and self.get(ENABLED):
            return "enabled"
        return str(self.get(SUPPORT)).lower()

    @property
    def exactly_once_source_enabled(self) -> bool:
        return self.exactly_once_source_support == "enabled"

    @property
    def transactional_leader_enabled(self) -> bool:
        """Whether Java's leader would write the config topic in transactions; ours always does (invariant 7)."""
        return self.exactly_once_source_support != "disabled"

    @property
    def transactional_leader_id(self) -> str:
        """The leader's ``transactional.id``, fenced by the next leader (KIP-618)."""
        return f"connect-cluster-{self.group_id}"

    def transactional_id(self, connector: str, task: int) -> str:
        """The ``transactional.id`` of a source task (invariant 2)."""
        return f"{self.group_id}-{connector}-{task}"

    @property
    def connect_protocol(self) -> str:
        """eager, compatible or sessioned."""
        return str(self.get("connect.protocol")).lower()

    @property
    def config_topic(self) -> InternalTopic:
        """Always of one partition: its order is the order of all configurations."""
        return self._topic("config")

    @property
    def offset_topic(self) -> InternalTopic:
        return self._topic("offset")

    @property
    def status_topic(self) -> InternalTopic:
        return self._topic("status")

    def _topic(self, kind: str) -> InternalTopic:
        settings = self.with_prefix(f"{kind}.storage.")
        return InternalTopic(
            name=self.get(f"{kind}.storage.topic"),
            partitions=1 if kind == "config" else self.get(f"{kind}.storage.partitions"),
            replication_factor=self.get(f"{kind}.storage.replication.factor"),
            config={k: v for k, v in settings.items() if k not in _SETTINGS_OF_OURS | _FIXED_SETTINGS}
            | {"cleanup.policy": "compact"},
        )
