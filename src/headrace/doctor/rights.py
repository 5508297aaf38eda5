# SPDX-License-Identifier: Apache-2.0
"""The table of permissions that a worker and its connectors need (KIP-618, docs/exactly-once.md). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.config import client_configs
from headrace.config.connector_config import DLQ_TOPIC
from headrace.config.distributed_config import DistributedConfig
from headrace.config.sink_connector_config import TOPICS, TOPICS_REGEX
from headrace.config.source_connector_config import own_offsets_topic
from headrace.doctor.subject import Connector

TOPIC = "Topic"
GROUP = "Group"
ID = "TransactionalId"


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission: an operation on a resource, and the ``use`` that needs it.

    It is granted best for all resources with ``prefix``, if there is one. A worker without a permission that is not
    ``required`` works, with a warning.
    """

    operation: str
    kind: str
    name: str
    use: str
    prefix: str = ""
    required: bool = True

    def __str__(self) -> str:
        return f"{self.operation} on {self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Need:
    """The permissions that one client needs, whose connection and login are those of ``props``.

    ``unknown`` says which topics it also uses that its connector's properties do not name; "" if there are none.
    """

    client: str
    props: Mapping[str, str]
    rights: tuple[Permission, ...]
    unknown: str = ""


def needs(config: DistributedConfig, connectors: Sequence[Connector]) -> Iterator[Need]:
    """Yield all needs, the worker's first."""
    yield Need("the worker", client_configs.admin(config), tuple(_worker_rights(config)))
    for connector in connectors:
        of = f"of connector {connector.name}"
        yield from _source(config, connector, of) if connector.kind == "source" else _sink(config, connector, of)


def _worker_rights(config: DistributedConfig) -> Iterator[Permission]:
    leader = config.transactional_leader_id
    yield Permission("Write", ID, leader, "the leader writes the config topic in transactions")
    yield Permission("Describe", ID, leader, "the leader looks for its transaction coordinator")
    yield Permission("Read", GROUP, config.group_id, "workers join their group")
    for topic, what in (
        (config.config_topic, "configurations"),
        (config.offset_topic, "source offsets"),
        (config.status_topic, "statuses"),
    ):
        yield Permission("Read", TOPIC, topic.name, f"workers read {what}")
        yield Permission("Write", TOPIC, topic.name, f"workers write {what}")
        yield Permission("Create", TOPIC, topic.name, "the first worker creates it")
        yield Permission("DescribeConfigs", TOPIC, topic.name, "workers check that it is compacted", required=False)


def _source(config: DistributedConfig, connector: Connector, of: str) -> Iterator[Need]:
    producer = client_configs.source_task_producer(config, connector.config, 0)
    unknown = "" if any(_data_topic(connector)) else "the topics that it writes, which its plugins decide"
    yield Need(f"the producer {of}", producer, tuple(_source_producer_rights(config, connector)), unknown)
    own = _own_offsets_topic(config, connector)
    if own is not None:
        reads = Permission("Read", TOPIC, own, "its source offsets are read")
        yield Need(f"the consumer {of}", client_configs.source_offsets_consumer(config, connector.config), (reads,))
    admin = client_configs.source_offsets_admin(config, connector.config)
    yield Need(f"the admin client {of}", admin, tuple(_source_admin_rights(config, connector)))


def _source_producer_rights(config: DistributedConfig, connector: Connector) -> Iterator[Permission]:
    yield from _id_rights(config, connector, "its tasks produce in transactions")
    own = _own_offsets_topic(config, connector)
    if own is not None or config.exactly_once_source_enabled:
        yield Permission("Write", TOPIC, own or config.offset_topic.name, "its tasks commit source offsets")
    for topic in _data_topic(connector):
        yield Permission("Write", TOPIC, topic, "its tasks write records", required=False)
    yield from _dead_letters(connector, "Write", "its tasks write dead letters")


def _source_admin_rights(config: DistributedConfig, connector: Connector) -> Iterator[Permission]:
    yield from _id_rights(config, connector, "the leader fences its tasks' producers")
    own = _own_offsets_topic(config, connector)
    if own is not None:
        yield Permission("Create", TOPIC, own, "the worker creates the connector's offsets topic")
    if own is not None or config.exactly_once_source_enabled:
        yield Permission(
            "Describe", TOPIC, own or config.offset_topic.name, "the end of its source offsets is looked up"
        )
    if config.topic_creation_enabled and any(name.startswith("topic.creation.") for name in connector.config):
        for topic in _data_topic(connector):
            yield Permission("Create", TOPIC, topic, "its tasks create their topics", required=False)
    yield from _dead_letters(connector, "Create", "its tasks create the dead letter topic")


def _id_rights(config: DistributedConfig, connector: Connector, use: str) -> Iterator[Permission]:
    """Yield the permissions for the tasks' transactional ids; of a connector without tasks, for that of its first."""
    if config.exactly_once_source_enabled:
        prefix = f"{config.group_id}-{connector.name}-"
        for task in range(max(1, connector.tasks)):
            id = config.transactional_id(connector.name, task)
            yield Permission("Write", ID, id, use, prefix)
            yield Permission("Describe", ID, id, f"{use}, whose coordinator is looked for", prefix)


def _own_offsets_topic(config: DistributedConfig, connector: Connector) -> str | None:
    """Return the connector's own offsets topic; None if its offsets are in the worker's."""
    topic = own_offsets_topic(connector.config) or config.offset_topic.name
    elsewhere = client_configs.targets_other_cluster(config, connector.config)
    return topic if elsewhere or topic != config.offset_topic.name else None


def _data_topic(connector: Connector) -> Iterator[str]:
    """Yield the topic in the property that most sources have for it, unless a transformation may replace it."""
    topic = (connector.config.get("topic") or "").strip()
    if topic and not connector.config.get("transforms"):
        yield topic


def _sink(config: DistributedConfig, connector: Connector, of: str) -> Iterator[Need]:
    props = client_configs.sink_task_consumer(config, connector.config, 0)
    topics = [name.strip() for name in (connector.config.get(TOPICS) or "").split(",") if name.strip()]
    rights = [Permission("Read", GROUP, props["group.id"], "its tasks join their consumer group")]
    rights += [Permission("Read", TOPIC, topic, "its tasks read records") for topic in topics]
    unknown = f"the topics that match {TOPICS_REGEX}" if connector.config.get(TOPICS_REGEX) else ""
    yield Need(f"the consumer {of}", props, tuple(rights), unknown)
    producer = client_configs.dead_letter_producer(config, connector.config, 0)
    yield Need(f"the producer {of}", producer, tuple(_dead_letters(connector, "Write", "its tasks write dead letters")))
    admin = client_configs.dead_letter_admin(config, connector.config, 0)
    created = _dead_letters(connector, "Create", "its tasks create the dead letter topic")
    yield Need(f"the admin client {of}", admin, tuple(created))


def _dead_letters(connector: Connector, operation: str, use: str) -> Iterator[Permission]:
    topic = (connector.config.get(DLQ_TOPIC) or "").strip()
    if topic:
        yield Permission(operation, TOPIC, topic, use)
