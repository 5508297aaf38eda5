# SPDX-License-Identifier: Apache-2.0
"""Rules of a broker that asks who may do what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
)

AUTHORIZER: Final = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
"""A broker's properties. Only its super users may do what no rule is about."""
LENIENT: Final = {**AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
"""Everybody may do what no rule is about."""

Rule = tuple[Any, ...]
"""Kind of resource, its name, pattern, principal, host, operation, permission."""
_TIMEOUT_S: Final = 30


def all_but(operation: AclOperation) -> tuple[tuple[AclOperation, AclPermissionType], ...]:
    """Return the ends of two rules by which everything is allowed but ``operation``."""
    return (AclOperation.ALL, AclPermissionType.ALLOW), (operation, AclPermissionType.DENY)


def add_rules(bootstrap: str, *rules: Rule) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap})
    for added in client.create_acls([AclBinding(*rule) for rule in rules]).values():
        added.result(_TIMEOUT_S)


def remove_rules(bootstrap: str, *rules: Rule) -> None:
    """Remove them one by one, the last one first: what allows goes after what denies, or clients are denied then."""
    client = AdminClient({"bootstrap.servers": bootstrap})
    for rule in reversed(rules):
        for removed in client.delete_acls([AclBindingFilter(*rule)]).values():
            removed.result(_TIMEOUT_S)


@contextmanager
def rules_in_force(bootstrap: str, *rules: Rule) -> Iterator[None]:
    add_rules(bootstrap, *rules)
    try:
        yield
    finally:
        remove_rules(bootstrap, *rules)
