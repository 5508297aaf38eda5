# SPDX-License-Identifier: Apache-2.0
"""MirrorSource copies the ACLs of topics between two brokers that have an authorizer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from headrace import KAFKA_VERSION
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.java.store import PluginStore
from tests.java.mirrored_topics import Clusters
from tests.support.acls import AUTHORIZER, Rule, add_rules
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.sinks import make_topic
from tests.support.worker_process import WorkerProcess

# The tests' clients and the worker have no login.
GUARDED = {**AUTHORIZER, "super.users": "User:ANONYMOUS"}
TOPIC = "orders"


@pytest.fixture
def clusters() -> Iterator[Clusters]:
    with ExitStack() as stack:
        brokers = [
            stack.enter_context(EmbeddedBroker(port=0, properties=GUARDED, jvm_options=QUICK_START_JVM_OPTIONS))
            for _ in range(2)
        ]
        yield Clusters(*(broker.bootstrap_servers for broker in brokers))


def rule(user: str, operation: AclOperation, permission: AclPermissionType = AclPermissionType.ALLOW) -> Rule:
    return (ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, permission)


def rules(bootstrap: str, topic: str) -> set[tuple[str, str, str]]:
    """User, operation and permission of each rule of a topic."""
    every = AclBindingFilter(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    admin = AdminClient({"bootstrap.servers": bootstrap})
    found = admin.describe_acls(every).result(30)
    return {(each.principal, each.operation.name, each.permission_type.name) for each in found}


def test_rules_of_a_topic_are_copied_and_kept_up_to_date(clusters: Clusters, tmp_path: Path) -> None:
    """Those who may do all may read the copy; no one may write it for being allowed to write the topic."""
    store = PluginStore(tmp_path / "plugins")
    or_skip(lambda: store.install(f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}"))
    make_topic(clusters.source, TOPIC)
    reader, later = rule("reader", AclOperation.READ), rule("later", AclOperation.DESCRIBE)
    denied = rule("guest", AclOperation.READ, AclPermissionType.DENY)
    add_rules(clusters.source, reader, denied, rule("writer", AclOperation.WRITE), rule("owner", AclOperation.ALL))
    expected = {
        ("User:reader", "READ", "ALLOW"),
        ("User:guest", "READ", "DENY"),
        ("User:owner", "READ", "ALLOW"),
    }
    properties = {"group.id": "mirror-acls", "plugin.path": str(store.directory)}
    with WorkerProcess(tmp_path, clusters.target, **properties) as worker:
        worker.await_answer(path="/connectors")
        worker.create(TOPIC, **clusters.source_config(TOPIC, **{"sync.topic.acls.interval.seconds": "1"}))

        def copied(wanted: set[tuple[str, str, str]]) -> None:
            copy = f"a.{TOPIC}"
            wait_for(
                lambda: rules(clusters.target, copy) == wanted,
                90,
                lambda: f"{wanted}: {rules(clusters.target, copy)} {worker.log[-3000:]}",
            )

        copied(expected)
        add_rules(clusters.source, later)
        copied({*expected, ("User:later", "DESCRIBE", "ALLOW")})
        worker.delete(TOPIC)
