# SPDX-License-Identifier: Apache-2.0
"""The configuration of a distributed worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import CaseInsensitiveValidString, LambdaValidator, NonEmptyString, Range
from headrace.config.access_config import AUTHENTICATION
from headrace.config.rest_config import REST_EXTENSIONS
from headrace.config.session_key_config import (
    KEY_ALGORITHM,
    KEY_SIZE,
    KEY_TTL,
    SIGNATURE_ALGORITHM,
    VERIFICATION_ALGORITHMS,
    MacAlgorithm,
    define_session_keys,
    mac_algorithm,
)
from headrace.config.worker_config import InternalTopic, WorkerConfig

GROUP_ID: Final = "group.id"
SUPPORT: Final = "exactly.once.source.support"
ENABLED: Final = "exactly.once.source.enabled"
PROTOCOL: Final = "connect.protocol"
PROTOCOL_MINIMUM: Final = "connect.protocol.minimum"
PROTOCOLS: Final = ("eager", "compatible", "sessioned")
"""In order: each protocol includes those before it; only the last has signatures."""
RECREATED: Final = "internal.topics.recreated"
_SETTINGS_OF_OURS: Final = frozenset({"topic", "partitions", "replication.factor"})
_FIXED_SETTINGS: Final = frozenset({"cleanup.policy"})


def _check_count(name: str, value: int) -> None:
    if value != -1 and value < 1:
        raise ConfigError.invalid(name, value, "Value must be at least 1, or -1 for the brokers' default")


def _check_protocol_minimum(name: str, value: str | None) -> None:
    if value is not None and value.lower() not in PROTOCOLS:
        raise ConfigError.invalid(name, value, f"one of {', '.join(PROTOCOLS)} expected")


_COUNT: Final = LambdaValidator(_check_count, lambda: "-1 or [1,...]")


def _define_topic(definition: ConfigDef, kind: str, what: str, partitions: int | None) -> None:
    high, low = Importance.HIGH, Importance.LOW
    definition.define(f"{kind}.storage.topic", Type.STRING, importance=high, validator=NonEmptyString(),
                      doc=f"Topic that stores {what}; the same for all workers of a group.")  # fmt: skip
    definition.define(f"{kind}.storage.replication.factor", Type.SHORT, 3, importance=low, validator=_COUNT,
                      doc=f"Replication factor of the topic that stores {what}, if the worker creates it.")  # fmt: skip
    if partitions is not None:
        definition.define(f"{kind}.storage.partitions", Type.INT, partitions, importance=low, validator=_COUNT,
                          doc=f"Partitions of the topic that stores {what}, if the worker creates it.")  # fmt: skip


def _define_group(definition: ConfigDef) -> None:
    high, low = Importance.HIGH, Importance.LOW
    positive, natural = Range.at_least(1), Range.at_least(0)
    (
        definition
        .define(GROUP_ID, Type.STRING, importance=high, validator=NonEmptyString(),
                doc="The group of workers that this one belongs to.")
        .define("session.timeout.ms", Type.INT, 10000, importance=high, validator=positive,
                doc="The time in ms without a heartbeat after which the group removes a worker.")
        .define("heartbeat.interval.ms", Type.INT, 1000, importance=high, validator=positive,
                doc="The time in ms between heartbeats; at most a third of session.timeout.ms. Other members may "
                    "notice a joining worker only after this time, so the default is less than Kafka Connect's 3000.")
        .define("rebalance.timeout.ms", Type.INT, 60000, importance=high, validator=positive,
                doc="The time in ms within which a worker has to join a rebalance.")
        .define("worker.sync.timeout.ms", Type.INT, 3000, importance=Importance.MEDIUM, validator=natural,
                doc="The time in ms for which a worker that lags behind tries to read the config topic to its end "
                    "before it leaves the group.")
        .define("worker.unsync.backoff.ms", Type.INT, 300000, importance=Importance.MEDIUM, validator=natural,
                doc="The time in ms before a worker that could not catch up joins again, in the eager protocol; in "
                    "the others a fiftieth of scheduled.rebalance.max.delay.ms, if that is less.")
        .define(RECREATED, Type.STRING, "refuse", importance=low,
                validator=CaseInsensitiveValidString("refuse", "accept"),
                doc="Behaviour of a worker at its start if the config or offsets topic was deleted, or created "
                    "again, since the group last used it: refuse to start, or accept its content.")
        .define(PROTOCOL, Type.STRING, "sessioned", importance=low, validator=CaseInsensitiveValidString(*PROTOCOLS),
                doc="The rebalance protocol.")
        .define(PROTOCOL_MINIMUM, Type.STRING, None, importance=low,
                validator=LambdaValidator(_check_protocol_minimum, lambda: f"one of {', '.join(PROTOCOLS)}"),
                doc="The least protocol of this worker's group; a group with a lesser one is not joined. By default "
                    f"sessioned with {REST_EXTENSIONS} or {AUTHENTICATION}, otherwise eager. headrace only.")
        .define("scheduled.rebalance.max.delay.ms", Type.INT, 300000, importance=low, validator=natural,
                doc="The time in ms for which a lost worker's connectors and tasks are kept for its return.")
    )  # fmt: skip


def _define_exactly_once(definition: ConfigDef) -> None:
    high = Importance.HIGH
    (
        definition
        .define(SUPPORT, Type.STRING, "disabled", importance=high,
                validator=CaseInsensitiveValidString("disabled", "preparing", "enabled"),
                doc="Exactly-once for source connectors (KIP-618). Set preparing on all workers first, then enabled.")
        .define(ENABLED, Type.BOOLEAN, None, importance=high,
                doc="The same property as in KIP-618's text: true is enabled, false is not.")
    )  # fmt: skip


def _distributed_def() -> ConfigDef:
    definition = ConfigDef(WorkerConfig.DEFINITION)
    _define_group(definition)
    _define_exactly_once(definition)
    define_session_keys(definition)
    _define_topic(definition, "config", "the configurations of connectors", None)
    _define_topic(definition, "offset", "source offsets", 25)
    _define_topic(definition, "status", "the statuses of connectors and tasks", 5)
    return definition


class DistributedConfig(WorkerConfig):
    """The configuration of a distributed worker. Java: ``DistributedConfig``."""

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
        if self.signature_algorithm not in self.verification_algorithms:
            raise ConfigError.invalid(
                VERIFICATION_ALGORITHMS,
                self.get(VERIFICATION_ALGORITHMS),
                f"{SIGNATURE_ALGORITHM}={self.signature_algorithm.name} has to be among them",
            )
        self._check_protocols()

    def _check_protocols(self) -> None:
        minimum = self.connect_protocol_minimum
        if PROTOCOLS.index(self.connect_protocol) >= PROTOCOLS.index(minimum):
            return
        if self.get(PROTOCOL_MINIMUM) is not None:
            reason = f"{PROTOCOL_MINIMUM}={minimum} forbids it"
        else:
            reason = (
                "the workers of such a group do not sign what they ask of each other, so these requests would pass "
                f"whatever {REST_EXTENSIONS} and {AUTHENTICATION} ask of others. Use sessioned, or, if only "
                f"workers can reach the REST API, set {PROTOCOL_MINIMUM}={self.connect_protocol} too"
            )
        raise ConfigError.invalid(PROTOCOL, self.get(PROTOCOL), reason)

    @property
    def group_id(self) -> str:
        return str(self.get(GROUP_ID))

    @property
    def exactly_once_source_support(self) -> str:
        """The value: disabled, preparing or enabled."""
        if SUPPORT not in self.raw and self.get(ENABLED):
            return "enabled"
        return str(self.get(SUPPORT)).lower()

    @property
    def exactly_once_source_enabled(self) -> bool:
        return self.exactly_once_source_support == "enabled"

    @property
    def transactional_leader_enabled(self) -> bool:
        """True if Java's leader would write the config topic in transactions; headrace's always does (invariant 7)."""
        return self.exactly_once_source_support != "disabled"

    @property
    def transactional_leader_id(self) -> str:
        """The leader's ``transactional.id``, fenced by the next leader (KIP-618)."""
        return f"connect-cluster-{self.group_id}"

    @property
    def accepts_recreated_topics(self) -> bool:
        """True if a worker starts even though internal topics were lost."""
        return str(self.get(RECREATED)).lower() == "accept"

    @property
    def connect_protocol(self) -> str:
        """The protocol: eager, compatible or sessioned."""
        return str(self.get(PROTOCOL)).lower()

    @property
    def connect_protocol_minimum(self) -> str:
        """The least protocol that the group has to use."""
        default = "sessioned" if self.get(REST_EXTENSIONS) or self.get(AUTHENTICATION) else "eager"
        return str(self.get(PROTOCOL_MINIMUM) or default).lower()

    @property
    def key_algorithm(self) -> MacAlgorithm:
        """The algorithm of session keys (KIP-507)."""
        return _algorithm(self.get(KEY_ALGORITHM))

    @property
    def key_bytes(self) -> int:
        """The length of session keys; bits are rounded up to bytes, as in Java."""
        return ((self.get(KEY_SIZE) or self.key_algorithm.key_bits) + 7) // 8

    @property
    def key_ttl_ms(self) -> int:
        """The age in ms at which a session key is replaced; 0: never."""
        return int(self.get(KEY_TTL))

    @property
    def signature_algorithm(self) -> MacAlgorithm:
        return _algorithm(self.get(SIGNATURE_ALGORITHM))

    @property
    def verification_algorithms(self) -> tuple[MacAlgorithm, ...]:
        return tuple(_algorithm(name) for name in self.get(VERIFICATION_ALGORITHMS))

    @property
    def config_topic(self) -> InternalTopic:
        """The config topic, always of one partition, which orders all configurations."""
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


def _algorithm(name: str) -> MacAlgorithm:
    algorithm = mac_algorithm(name)
    assert algorithm is not None  # the definition has validated it
    return algorithm
