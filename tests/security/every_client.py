# SPDX-License-Identifier: Apache-2.0
"""Each kind of Kafka client that a worker and its tasks have, made as the worker makes it and put to use.

`python -m tests.security.every_client NAME` does so in a process of its own, with the worker's properties as JSON on
standard input.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.kafka.admin.admin_client import fence_producers
from headrace.kafka.admin.consumer_groups import ConsumerGroups
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.clients import client_config
from headrace.kafka.clients.client_config import kafka_python_config
from headrace.kafka.data.transactional_producer import TransactionalProducer
from headrace.kafka.group.group_membership import GroupMember, GroupSettings
from tests.support.polling import wait_for
from tests.support.worker_process import group_properties


class Member:
    """A listener of a membership that notes that it has joined."""

    def __init__(self, worker: DistributedConfig) -> None:
        self.joined = threading.Event()
        settings = GroupSettings(worker.group_id, 10.0, 1.0, 10.0)
        self.member = GroupMember(kafka_python_config(client_configs.group_member(worker, "w")), settings, self)

    def ready_to_join(self) -> bool:
        return True

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        return [("sessioned", b"")]

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return members

    def on_assigned(self, *_: Any) -> None:
        self.joined.set()

    def on_lost(self, reason: str) -> None:
        pass


def worker_config(unique: str, way: Mapping[str, str]) -> DistributedConfig:
    return DistributedConfig(group_properties("", unique, **way))


def every_client_goes(worker: DistributedConfig, unique: str) -> None:
    connector = {"name": unique, "connector.class": "any"}
    member = Member(worker)
    member.member.start()
    try:
        admin = TopicAdmin(client_configs.admin(worker))
        assert admin.create_topics([TopicSpec(unique, 1, 1)]) == {unique}
        id = worker.transactional_id(unique, 0)
        fence_producers(client_configs.fencing_admin(worker, connector), [id], 30).all()
        write(client_configs.source_task_producer(worker, connector, 0), unique)
        assert read(client_configs.sink_task_consumer(worker, connector, 0), unique) == b"v"
        groups = ConsumerGroups(client_configs.consumer_group_admin(worker, connector))
        assert list(groups.offsets(f"connect-{unique}").values()) == [1]
        assert member.joined.wait(30), member.member.trouble()
    finally:
        member.member.leave(2.0)


def write(props: Mapping[str, str], topic: str) -> None:
    producer = TransactionalProducer(props)
    producer.init_transactions(30)
    producer.begin()
    producer.records.send(topic, b"k", b"v")
    producer.commit(30)
    producer.close()


def read(props: Mapping[str, str], topic: str) -> bytes | None:
    consumer = client_config.consumer({**props, "isolation.level": "read_committed"})
    consumer.subscribe([topic])
    found = wait_for(lambda: consumer.poll(1.0), 30, "the record")
    assert found.error() is None, found.error()
    consumer.commit(found, asynchronous=False)
    consumer.close()
    return found.value()  # type: ignore[no-any-return]


if __name__ == "__main__":
    every_client_goes(worker_config(sys.argv[1], json.load(sys.stdin)), sys.argv[1])
