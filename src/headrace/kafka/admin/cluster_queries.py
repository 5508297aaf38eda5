# SPDX-License-Identifier: Apache-2.0
"""Read-only questions to a cluster, for checks: its brokers, topics, groups, and what the client's principal may do.

Nothing here writes, nor makes brokers create a topic: not by metadata requests, nor by looking for a coordinator, for
which a new cluster creates ``__consumer_offsets``. A permission that no answer names is tried by a request that brokers
refuse for another reason once they have checked the permission.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import kafka.errors as kafka_errors
from kafka import KafkaAdminClient
from kafka.protocol.admin import (
    CreateTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    ListGroupsRequest,
)
from kafka.protocol.admin.transactions import DescribeTransactionsRequest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.consumer.group import HeartbeatRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer.transaction import AddPartitionsToTxnRequest

from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.clients.client_config import kafka_python_config
from headrace.kafka.errors import KafkaClientError, RetriableKafkaError

_OPERATIONS: Final = {
    **{3: "Read", 4: "Write", 5: "Create", 6: "Delete", 7: "Alter", 8: "Describe"},
    **{9: "ClusterAction", 10: "DescribeConfigs", 11: "AlterConfigs", 12: "IdempotentWrite"},
}
_TOPIC: Final = 2
_UNKNOWN_TOPIC: Final = 3
_NOT_HERE: Final = frozenset({14, 15, 16})  # loading, not available, not this broker
_TOPIC_DENIED: Final = 29
_GROUP_DENIED: Final = 30
_CLUSTER_DENIED: Final = 31
_ID_DENIED: Final = 53
_NO_TOPIC: Final = "no topic/can have this name"
_NO_ID: Final = -1

Operations = frozenset[str] | None
"""The operations that the principal may do, implied ones included; None if the broker does not report them."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker with its advertised address."""

    id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster as one broker describes it; ``version`` is the release whose requests the broker knows."""

    id: str
    version: tuple[int, ...]
    requests: frozenset[str]
    brokers: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition; ``leader`` is -1 without one."""

    id: int
    leader: int
    replicas: int
    in_sync: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic by its name. One that ``exists`` has partitions; None: the principal may not even describe it."""

    name: str
    exists: bool | None
    partitions: tuple[Partition, ...] = ()
    operations: Operations = None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group; ``metadata`` is what it joined with."""

    client_id: str
    host: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Group:
    """A group; ``kind`` is its protocol type. One without members and offsets has neither kind nor state."""

    id: str
    state: str = ""
    kind: str = ""
    protocol: str = ""
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error code and message with which a request was refused."""

    code: int
    message: str

    @property
    def is_permission(self) -> bool:
        """True if the principal lacks a permission."""
        return self.code in (_TOPIC_DENIED, _GROUP_DENIED, _CLUSTER_DENIED, _ID_DENIED)


class ClusterQueries:
    """Questions to a cluster with the connection and login of one kind of clients. Any thread may ask.

    Each method blocks for ``timeout`` seconds at most. RetriableError if brokers do not answer, else ConnectError.
    """

    def __init__(self, props: Mapping[str, str], timeout: float) -> None:
        """Connect. ``props`` are Java-style client properties."""
        limit = int(timeout * 1000)
        self._servers = props.get("bootstrap.servers", "")
        config = {**kafka_python_config(props), "request_timeout_ms": limit, "bootstrap_timeout_ms": limit}
        try:
            self._admin = KafkaAdminClient(**config)
        except kafka_errors.KafkaError as error:
            raise RetriableKafkaError(f"there is no connection to bootstrap.servers={self._servers}") from error
        self._manager = self._admin._manager

    def close(self) -> None:
        self._admin.close()

    def brokers(self) -> tuple[Broker, ...]:
        """Return the brokers that the bootstrap server named. Sends nothing, so it works if none can be reached."""
        found = sorted(self._manager.cluster.brokers(), key=lambda each: each.node_id)
        return tuple(Broker(each.node_id, each.host, each.port) for each in found)

    def cluster(self) -> Cluster:
        """Describe the cluster, the fenced brokers left out."""
        found = self._send(DescribeClusterRequest())
        brokers = tuple(Broker(each.broker_id, each.host, each.port) for each in found.brokers)
        known = frozenset(ApiKey(key).name for key in self._manager.broker_version_data.api_versions if _is_known(key))
        version = tuple(self._manager.broker_version)
        return Cluster(found.cluster_id, version, known, brokers)

    def may_describe_cluster(self) -> bool:
        """Return True if the principal may describe the cluster: brokers show its operations to no other."""
        found = self._send(DescribeClusterRequest(include_cluster_authorized_operations=True))
        return "Describe" in (_operations(found.authorized_operations) or ())

    def topics(self, names: Sequence[str]) -> dict[str, Topic]:
        """Describe topics, and what the principal may do with them; also of those that do not exist."""
        asked = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(
            topics=asked, allow_auto_topic_creation=False, include_topic_authorized_operations=True, max_version=12
        )
        return {each.name: _topic(each) for each in self._send(request).topics}

    def settings(self, topic: str) -> dict[str, str | None] | Refusal:
        """Return the topic's configuration, defaults included."""
        resource = DescribeConfigsRequest.DescribeConfigsResource
        asked = [resource(resource_type=_TOPIC, resource_name=topic, configuration_keys=None)]
        (result,) = self._send(DescribeConfigsRequest(resources=asked)).results
        if result.error_code:
            return Refusal(result.error_code, result.error_message or "")
        return {each.name: each.value for each in result.configs}

    def creation_refusal(self, spec: TopicSpec) -> Refusal | None:
        """Return the reason why the topic could not be created, None if it could; it is only validated."""
        new = CreateTopicsRequest.CreatableTopic
        configs = [new.CreatableTopicConfig(name=name, value=value) for name, value in spec.config.items()]
        topic = new(
            name=spec.name,
            num_partitions=spec.partitions,
            replication_factor=spec.replication_factor,
            assignments=[],
            configs=configs,
        )
        (result,) = self._send(CreateTopicsRequest(topics=[topic], timeout_ms=5000, validate_only=True)).topics
        return Refusal(result.error_code, result.error_message or "") if result.error_code else None

    def topic_sizes(self, topics: Mapping[str, Iterable[int]]) -> dict[str, int]:
        """Return the bytes on disk of topics, given with their partitions: of one replica of each, the largest.

        A topic is left out if a partition is not described, as the principal may not Describe the Cluster.
        """
        asked = [DescribeLogDirsRequest.DescribableLogDirTopic(topic=t, partitions=[*p]) for t, p in topics.items()]
        sizes: dict[tuple[str, int], int] = {}
        for node in self._nodes():
            for directory in self._send(DescribeLogDirsRequest(topics=asked), node).results:
                for topic in directory.topics:
                    for each in topic.partitions:
                        key = topic.name, each.partition_index
                        sizes[key] = max(sizes.get(key, 0), each.partition_size)
        whole = [name for name, partitions in topics.items() if all((name, p) in sizes for p in partitions)]
        return {name: sum(size for (topic, _), size in sizes.items() if topic == name) for name in whole}

    def group(self, group: str) -> Group | None:
        """Describe a group; None if the principal may not. All brokers are asked, not only its coordinator."""
        for node in self._nodes():
            # From version 6 on a group without members is an error.
            (found,) = self._send(DescribeGroupsRequest(groups=[group], max_version=5), node).groups
            if found.error_code == _GROUP_DENIED:
                return None
            if found.error_code in _NOT_HERE:
                continue
            members = tuple(Member(m.client_id, m.client_host, bytes(m.member_metadata)) for m in found.members)
            if members or found.protocol_type:
                return Group(group, found.group_state, found.protocol_type, found.protocol_data, members)
        return self._listed(group)

    def _listed(self, group: str) -> Group:
        """Return a group that is described by other requests, as those of KIP-848; an empty one if there is none."""
        for node in self._nodes():
            for each in self._send(ListGroupsRequest(states_filter=[], types_filter=[]), node).groups:
                if each.group_id == group:
                    return Group(group, getattr(each, "group_state", ""), each.protocol_type)
        return Group(group)

    def may_read_group(self, group: str) -> bool:
        """Return True if the principal may join the group. A heartbeat of no member says so."""
        request = HeartbeatRequest(
            group_id=group, generation_id=_NO_ID, member_id="", group_instance_id=None, max_version=3
        )
        return bool(self._send(request).error_code != _GROUP_DENIED)

    def may_describe_id(self, transactional_id: str) -> bool:
        """Return True if the principal may look for the transactional id's coordinator."""
        (state,) = self._send(DescribeTransactionsRequest(transactional_ids=[transactional_id])).transaction_states
        return bool(state.error_code != _ID_DENIED)

    def may_write_id(self, transactional_id: str) -> bool:
        """Return True if the principal may write with the transactional id.

        The request names no producer and no topic that can exist: it ends at the broker, before any coordinator.
        """
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction.AddPartitionsToTxnTopic
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=_NO_ID,
            v3_and_below_producer_epoch=_NO_ID,
            v3_and_below_topics=[topic(name=_NO_TOPIC, partitions=[0])],
            max_version=3,
        )
        (result,) = self._send(request).results_by_topic_v3_and_below
        return bool(result.results_by_partition[0].partition_error_code != _ID_DENIED)

    def _nodes(self) -> Iterator[int]:
        yield from (broker.id for broker in self.brokers())

    def _send(self, request: Any, node: int | None = None) -> Any:
        """Send a request, which changes nothing, to a broker or to any of them.

        A broker that has just died is still known: then another one is asked.
        """
        others = len(self.brokers()) if node is None else 0
        while True:
            try:
                return self._manager.run(lambda: self._manager.send(request, node_id=node))
            except kafka_errors.KafkaError as error:
                if not others or not isinstance(error, kafka_errors.KafkaConnectionError):
                    raise self._error(error) from error
                others -= 1

    def _error(self, error: Exception) -> KafkaClientError | RetriableKafkaError:
        message = f"The brokers at bootstrap.servers={self._servers} do not answer: {error}"
        return RetriableKafkaError(message) if getattr(error, "retriable", False) else KafkaClientError(message)


def _topic(found: Any) -> Topic:
    if found.error_code == _TOPIC_DENIED:
        return Topic(found.name, None)
    partitions = tuple(
        Partition(p.partition_index, p.leader_id, len(p.replica_nodes), len(p.isr_nodes))
        for p in sorted(found.partitions, key=lambda p: p.partition_index)
    )
    return Topic(found.name, found.error_code != _UNKNOWN_TOPIC, partitions, _operations(found.authorized_operations))


def _operations(found: Any) -> Operations:
    return None if found is None else frozenset(_OPERATIONS[each] for each in found if each in _OPERATIONS)


def _is_known(key: int) -> bool:
    return key in ApiKey._value2member_map_
