# SPDX-License-Identifier: Apache-2.0
"""A broker that allows what a rule allows and nothing else, and the permissions of KIP-618's tables.

Each kind of clients has a principal of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import free_port
from tests.support.acls import AUTHORIZER, Rule, add_rules, remove_rules
from tests.support.polling import wait_for

GROUP: Final = "acls"
NAME: Final = "c"
DATA: Final = "numbers"
OWN: Final = "own-offsets"
LEADERS_ID: Final = f"connect-cluster-{GROUP}"
TASKS_IDS: Final = f"{GROUP}-{NAME}-"
PRINCIPALS: Final = ("worker", "producer", "consumer", "admin")
_LITERAL, _PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED


@dataclass(frozen=True)
class Right:
    """One row of the tables."""

    principal: str
    operation: AclOperation
    kind: ResourceType
    name: str
    pattern: ResourcePatternType = _LITERAL

    def __str__(self) -> str:
        return f"{self.principal}: {self.operation.name} {self.kind.name} {self.name}"

    def rule(self, permission: AclPermissionType = AclPermissionType.ALLOW) -> Rule:
        return (self.kind, self.name, self.pattern, f"User:{self.principal}", "*", self.operation, permission)


CLUSTER: Final = (ResourceType.BROKER, "kafka-cluster")  # the client's name for type Cluster
LEADER_WRITES: Final = Right("worker", AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, LEADERS_ID)
LEADER_DESCRIBES: Final = Right("worker", AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, LEADERS_ID)
LEADER_IDEMPOTENT: Final = Right("worker", AclOperation.IDEMPOTENT_WRITE, *CLUSTER)
TASKS: Final = (ResourceType.TRANSACTIONAL_ID, TASKS_IDS, _PREFIXED)
TASK_WRITES: Final = Right("producer", AclOperation.WRITE, *TASKS)
TASK_DESCRIBES: Final = Right("producer", AclOperation.DESCRIBE, *TASKS)
TASK_IDEMPOTENT: Final = Right("producer", AclOperation.IDEMPOTENT_WRITE, *CLUSTER)
OFFSETS_WRITTEN: Final = Right("producer", AclOperation.WRITE, ResourceType.TOPIC, OWN)
OFFSETS_READ: Final = Right("consumer", AclOperation.READ, ResourceType.TOPIC, OWN)
FENCING_WRITES: Final = Right("admin", AclOperation.WRITE, *TASKS)
FENCING_DESCRIBES: Final = Right("admin", AclOperation.DESCRIBE, *TASKS)
OFFSETS_CREATED: Final = Right("admin", AclOperation.CREATE, ResourceType.TOPIC, OWN)
OFFSETS_DESCRIBED: Final = Right("admin", AclOperation.DESCRIBE, ResourceType.TOPIC, OWN)

LISTED: Final = (
    *(LEADER_WRITES, LEADER_DESCRIBES, LEADER_IDEMPOTENT),
    *(TASK_WRITES, TASK_DESCRIBES, TASK_IDEMPOTENT, OFFSETS_WRITTEN),
    OFFSETS_READ,
    *(FENCING_WRITES, FENCING_DESCRIBES, OFFSETS_CREATED, OFFSETS_DESCRIBED),
)
UNLISTED: Final = (
    *(
        Right("worker", operation, ResourceType.TOPIC, f"{GROUP}-", _PREFIXED)
        for operation in (AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE_CONFIGS)
    ),
    Right("worker", AclOperation.READ, ResourceType.GROUP, GROUP),
    Right("producer", AclOperation.WRITE, ResourceType.TOPIC, DATA),
)
"""What every worker and every source connector needs, exactly-once or not."""


class Rules:
    """The broker's rules; each method returns when they hold."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def grant(self, *rules: Rule) -> None:
        add_rules(self._bootstrap, *rules)
        wait_for(lambda: all(map(self._holds, rules)), 30, "the rules")

    def take(self, *rules: Rule) -> None:
        remove_rules(self._bootstrap, *rules)
        wait_for(lambda: not any(map(self._holds, rules)), 30, "the end of the rules")

    @contextmanager
    def without(self, right: Right) -> Iterator[None]:
        """Whoever may Write may Describe unasked, so that this has to be denied."""
        implied = right.operation is AclOperation.DESCRIBE and right.kind is ResourceType.TRANSACTIONAL_ID
        if implied:
            self.grant(right.rule(AclPermissionType.DENY))
        else:
            self.take(right.rule())
        try:
            yield
        finally:
            if implied:
                self.take(right.rule(AclPermissionType.DENY))
            else:
                self.grant(right.rule())

    def _holds(self, rule: Rule) -> bool:
        return bool(self._admin.describe_acls(AclBindingFilter(*rule)).result(30))


@contextmanager
def guarded_broker() -> Iterator[tuple[EmbeddedBroker, int]]:
    """Only the test, which needs no login, may do everything; and the port for those who log in."""
    port = free_port()
    listener = f"PROXIED{port}"
    users = " ".join(f'user_{name}="secret"' for name in PRINCIPALS)
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    properties = {
        **AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{listener}:SASL_PLAINTEXT",
        f"listener.name.{listener.lower()}.sasl.enabled.mechanisms": "PLAIN",
        f"listener.name.{listener.lower()}.plain.sasl.jaas.config": f"{login} {users};",
    }
    with EmbeddedBroker(
        port=0, properties=properties, jvm_options=QUICK_START_JVM_OPTIONS, proxies={port: port}
    ) as running:
        yield running, port


def logins() -> dict[str, str]:
    """Return a worker's properties with which each kind of clients is its principal."""
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="secret";'
    more = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login.format("worker"),
    }
    for client in PRINCIPALS[1:]:
        more |= {f"{client}.security.protocol": "SASL_PLAINTEXT", f"{client}.sasl.mechanism": "PLAIN"}
        more[f"{client}.sasl.jaas.config"] = login.format(client)
    return more
