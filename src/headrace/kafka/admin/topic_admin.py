# SPDX-License-Identifier: Apache-2.0
"""Creation, description and offsets of topics. Java: ``org.apache.kafka.connect.util.TopicAdmin``."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from headrace.api.errors import ConfigError, ConnectError
from headrace.kafka.clients import client_config
from headrace.kafka.errors import AUTHORIZATION_CODES, RetriableKafkaError, connect_error, kafka_error
from headrace.model.backoff import ExponentialBackoff

if TYPE_CHECKING:
    from headrace.kafka.admin.admin_client import OpenTransaction

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_METADATA_BACKOFF: Final = ExponentialBackoff(0.005, 0.5)
_DEFAULT_TIMEOUT = 30.0
_UNSUPPORTED_CODES = frozenset({KafkaError.UNSUPPORTED_VERSION, KafkaError._UNSUPPORTED_FEATURE})
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic to create. -1 leaves a number to the broker.

    ``prefix`` (``config.storage``) is that of its worker properties; messages name them with it. ``named_by`` is the
    property that names the topic, if that is not ``topic`` behind the prefix. ``loss`` is the advice to an operator if
    the topic is deleted.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    config: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    named_by: str = ""
    loss: str = ""

    @property
    def name_property(self) -> str:
        """The property that names the topic, for messages."""
        return self.named_by or (f"{self.prefix}.topic" if self.prefix else "topic")


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic as the brokers describe it."""

    name: str
    partitions: tuple[int, ...]
    replication_factor: int
    id: str = ""
    """Unique among all topics that ever had the name; empty if the brokers know of no ids (KIP-516)."""


class TopicAdmin:
    """An admin client for topics. Thread-safe; every method but ``close`` may block up to the client's request timeout.

    Errors are ``RetriableError`` where a retry can help (brokers that are not available, a login that is refused after
    an earlier one succeeded), else ``ConnectError``.
    """

    def __init__(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)
        self._client = client_config.admin_client(props)
        self._previous = self._client
        self._logged_in = False
        self._servers = props.get("bootstrap.servers", "")
        self._timeout = int(props.get("request.timeout.ms", _DEFAULT_TIMEOUT * 1000)) / 1000

    def create_topics(self, specs: Sequence[TopicSpec]) -> set[str]:
        """Create those topics that do not exist, and return their names.

        Returns when the brokers know them. A principal without the right to create is fine with topics that exist.
        ConfigError, naming the property, for numbers that the cluster refuses.
        """
        if not specs:
            return set()
        new = [_new_topic(spec) for spec in specs]
        doing = f"creating topics {_names(specs)}"
        futures = self._ask(doing, lambda: self._client.create_topics(new, **self._limits()))
        created = {spec.name for spec in specs if self._created(spec, futures[spec.name])}
        for spec in specs:  # also those that are there: another worker may have made them in this very moment
            self._await_known(spec.name)
        return created

    def _await_known(self, topic: str) -> None:
        """Wait until the brokers know the topic: the controller answers a creation a moment before they hear of it."""
        pauses, deadline = _METADATA_BACKOFF.pauses(), time.monotonic() + self._timeout
        while self.describe(topic) is None and time.monotonic() < deadline:
            time.sleep(next(pauses))

    def _created(self, spec: TopicSpec, future: Future[Any]) -> bool:
        try:
            self._result(future, f"creating topic '{spec.name}'")
        except ConnectError as e:
            error = kafka_error(e.__cause__) if e.__cause__ else None
            if error is None:
                raise
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            if error.code() in AUTHORIZATION_CODES and self.describe(spec.name) is not None:
                return False
            raise _creation_error(spec, error) or e from e.__cause__
        return True

    def describe(self, topic: str, timeout: float | None = None) -> TopicDescription | None:
        """Return the topic's description, None if it does not exist."""
        return self.description(topic, self.ask_to_describe(topic, timeout))

    def ask_to_describe(self, topic: str, timeout: float | None = None) -> Future[Any]:
        """Request the topic's description without waiting; ``description`` reads the answer."""
        wanted, limit = TopicCollection([topic]), timeout or self._timeout
        doing = f"describing topic '{topic}'"
        return self._ask(doing, lambda: self._client.describe_topics(wanted, request_timeout=limit))[topic]

    def description(self, topic: str, asked: Future[Any]) -> TopicDescription | None:
        """Wait for the answer to ``ask_to_describe`` and return it, None if there is no such topic."""
        try:
            found = self._result(asked, f"describing topic '{topic}'")
        except ConnectError as e:
            error = kafka_error(e.__cause__) if e.__cause__ else None
            if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise
        partitions = tuple(sorted(p.id for p in found.partitions))
        replicas = min((len(p.replicas) for p in found.partitions), default=0)
        id = found.topic_id
        has_id = id is not None and (id.get_most_significant_bits() or id.get_least_significant_bits())
        return TopicDescription(topic, partitions, replicas, str(id) if has_id else "")

    def config(self, topic: str) -> dict[str, str | None]:
        """Return the topic's configuration, defaults included."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        doing = f"reading the configuration of topic '{topic}'"
        futures = self._ask(doing, lambda: self._client.describe_configs([resource], request_timeout=self._timeout))
        entries = self._result(next(iter(futures.values())), doing)
        return {name: entry.value for name, entry in entries.items()}

    def verify_compacted(self, topic: str, property_name: str) -> None:
        """Raise ConfigError unless the topic's cleanup policy is "compact" alone: another one would lose records.

        ``property_name`` is the worker property that names the topic. Without the right to read the policy, or with no
        policy at all, it logs a warning instead.
        """
        try:
            policy = self.config(topic).get("cleanup.policy") or ""
        except ConnectError as e:
            error = kafka_error(e.__cause__) if e.__cause__ else None
            if error is not None and error.code() in AUTHORIZATION_CODES | _UNSUPPORTED_CODES:
                log.warning("Whether topic '%s' (%s) is compacted cannot be checked: %s", topic, property_name, e)
                return
            raise
        policies = {part.strip() for part in policy.split(",") if part.strip()}
        if not policies:
            log.warning("Topic '%s' (%s) has no cleanup.policy and will grow; set it to compact", topic, property_name)
        elif policies != {"compact"}:
            raise ConfigError(
                f"Topic '{topic}' named by {property_name} has cleanup.policy={policy} and would lose "
                f"records; set the topic's cleanup.policy to compact, or name another topic in {property_name}",
                property_name,
                topic,
            )

    def make_compacted(self, topic: str) -> None:
        """Set the topic's cleanup policy to "compact" alone."""
        doing = f"setting cleanup.policy=compact of topic '{topic}'"
        policy = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[policy])
        futures = self._ask(doing, lambda: self._client.incremental_alter_configs([resource], **self._request_limit()))
        self._result(next(iter(futures.values())), doing)

    def partitions(self, topic: str, timeout: float | None = None) -> tuple[int, ...]:
        """Return the topic's partitions; empty if it does not exist."""
        # Never by list_topics: from an admin client that creates the topic if brokers have auto.create.topics.enable.
        found = self.describe(topic, timeout)
        return found.partitions if found is not None else ()

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return each partition's end: the high watermark, so open transactions count too (invariant 3)."""
        doing = f"listing the end offsets of topic '{topic}'"
        futures = self.list_offsets(topic, self.partitions(topic))
        return {p: int(self._result(future, doing).offset) for p, future in futures.items()}

    def begin_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset where the first record of each partition is, or would be."""
        doing = f"listing the first offsets of topic '{topic}'"
        wanted = {TopicPartition(topic, partition): _EARLIEST for partition in self.partitions(topic)}
        if not wanted:
            return {}
        futures = self._ask(doing, lambda: self._client.list_offsets(wanted, request_timeout=self._timeout))
        return {where.partition: int(self._result(future, doing).offset) for where, future in futures.items()}

    def list_offsets(
        self, topic: str, partitions: Iterable[int], *, committed: bool = False, timeout: float | None = None
    ) -> dict[int, Future[Any]]:
        """Request the ends of partitions without waiting; futures end on the client's thread with an ``.offset``.

        ``committed`` asks for the last stable offset instead of the high watermark.
        """
        wanted = {TopicPartition(topic, partition): _LATEST for partition in partitions}
        if not wanted:
            return {}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        futures = self._ask(
            f"listing offsets of topic '{topic}'",
            lambda: self._client.list_offsets(wanted, isolation_level=level, request_timeout=timeout or self._timeout),
        )
        return {tp.partition: future for tp, future in futures.items()}

    def cluster_id(self) -> str:
        """Return the cluster's id."""
        doing = "asking for the cluster id"
        cluster = self._result(self._ask(doing, lambda: self._client.describe_cluster(**self._request_limit())), doing)
        return str(cluster.cluster_id)

    def open_transactions(self, topic: str, partition: int) -> tuple[OpenTransaction, ...]:
        """Return the partition's open transactions, the oldest first; kafka-python's errors are raised as they come."""
        # Seldom needed, and slow to import.
        from headrace.kafka.admin.admin_client import open_transactions

        return open_transactions(self._props, topic, partition)

    def renew(self) -> None:
        """Replace the client by a new one, which knows no leaders.

        librdkafka's admin client keeps sending a leader's old epoch for minutes after a broker has come back. Not to
        be called on the client's own thread, as a callback of its futures.
        """
        # The one before stays for the requests that are still under way; it must not end on its own thread either.
        self._previous, self._client = self._client, client_config.admin_client(self._props)

    def close(self) -> None:
        """Do nothing: the client ends with its last reference."""

    def _limits(self) -> dict[str, float]:
        return {"operation_timeout": self._timeout, "request_timeout": self._timeout}

    def _request_limit(self) -> dict[str, float]:
        return {"request_timeout": self._timeout}

    def _ask(self, doing: str, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except KafkaException as e:
            raise connect_error(e, self._where(doing)) from e

    def _result(self, future: Future[_T], doing: str) -> _T:
        try:
            result = future.result(self._timeout + 5)
        except KafkaException as e:
            raise connect_error(e, self._where(doing), logged_in=self._logged_in) from e
        except FutureTimeoutError as e:
            raise RetriableKafkaError(f"{self._where(doing)} timed out after {self._timeout + 5:g} s") from e
        self._logged_in = True
        return result

    def _where(self, doing: str) -> str:
        return f"{doing} (bootstrap.servers={self._servers})"


def _names(specs: Sequence[TopicSpec]) -> str:
    return ", ".join(f"'{spec.name}'" for spec in specs)


def _new_topic(spec: TopicSpec) -> NewTopic:
    return NewTopic(
        spec.name,
        num_partitions=spec.partitions,
        replication_factor=spec.replication_factor,
        config=dict(spec.config),
    )


def _creation_error(spec: TopicSpec, error: KafkaError) -> ConfigError | None:
    """Return the error for a number or setting that the cluster refuses; None for other failures."""
    reason = f"topic '{spec.name}' cannot be made: {error.str()}"
    prefix = f"{spec.prefix}." if spec.prefix else ""
    if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
        hint = "; it must not be more than the number of brokers"
        return ConfigError.invalid(f"{prefix}replication.factor", spec.replication_factor, reason + hint)
    if error.code() == KafkaError.INVALID_PARTITIONS:
        return ConfigError.invalid(f"{prefix}partitions", spec.partitions, reason)
    if error.code() == KafkaError.INVALID_CONFIG:
        return ConfigError(f"{prefix}*: {reason}", prefix.rstrip(".") or None, dict(spec.config))
    if error.code() == KafkaError.TOPIC_EXCEPTION:
        return ConfigError.invalid(spec.name_property, spec.name, reason)
    return None
