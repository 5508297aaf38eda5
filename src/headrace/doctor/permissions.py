# SPDX-License-Identifier: Apache-2.0
"""The check of permissions: each row of the table of ``rights``, as the brokers report it."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.doctor.findings import Finding, counted, ok, problem, warning
from headrace.doctor.rights import GROUP, ID, TOPIC, Need, Permission, needs
from headrace.doctor.subject import Connector, Subject
from headrace.kafka.admin.cluster_queries import ClusterQueries, Operations, Topic
from headrace.kafka.admin.topic_admin import TopicSpec
from headrace.kafka.clients.security_properties import principal

_OPTIONS: Final = {TOPIC: "--topic", GROUP: "--group", ID: "--transactional-id"}
_IMPLIES_DESCRIBE: Final = ("Read", "Write", "Delete", "Alter")

Answers = Mapping[Permission, bool | None]
"""Each permission, and True if the principal has it; None if the brokers do not report that."""


def check_permissions(subject: Subject) -> Iterator[Finding]:
    """Compare what the clients of the worker and its connectors may do with what they need."""
    config = subject.distributed
    if config is None:
        return
    connectors: Sequence[Connector] = ()
    try:
        subject.kafka.queries(client_configs.admin(config))
    except ConnectError as error:
        yield warning(f"not checked: {error}", "repair what brokers reports first")
        return
    try:
        connectors = subject.kafka.connectors(config)
    except ConnectError as error:
        found = f"the connectors are not known, and what they need is not checked: {error}"
        yield warning(found, "run it again when the worker can read its config topic")
    yield from _cluster_findings(subject, config)
    for need in (each for each in needs(config, connectors) if each.rights or each.unknown):
        try:
            answers = answers_of(subject.kafka.queries(need.props), need.rights)
        except ConnectError as error:
            yield warning(f"{need.client}: not checked: {error}", "repair what brokers reports first")
            continue
        yield from permission_findings(need, answers)


def _cluster_findings(subject: Subject, config: DistributedConfig) -> Iterator[Finding]:
    """Name a permission that many rules are about: it is easily taken for one that is needed."""
    props = client_configs.admin(config)
    try:
        described = subject.kafka.queries(props).may_describe_cluster()
    except ConnectError as error:
        yield warning(f"Describe on Cluster is not checked: {error}", "repair what brokers reports first")
        return
    if not described:
        who = principal(props)
        name = f"the worker ({who})" if who else "the worker"
        yield ok(f"{name} lacks Describe on Cluster, or a rule denies it: only sizes of topics need it")


def permission_findings(need: Need, answers: Answers) -> Iterator[Finding]:
    """Return the findings about one client: one for each missing permission, or one for all."""
    missing = [permission for permission in need.rights if answers[permission] is False]
    unknown = [permission for permission in need.rights if answers[permission] is None]
    who = principal(need.props)
    name = f"{need.client} ({who})" if who else need.client
    for permission in missing:
        finding = problem if permission.required else warning
        yield finding(f"{name} lacks {permission}: {permission.use}", _remedy(need, permission, answers))
    if unknown:
        rights = ", ".join(map(str, unknown))
        yield warning(f"{name}: the brokers do not say whether it has {rights}", "look at kafka-acls.sh --list")
    if need.rights and not missing and not unknown:
        count = len(need.rights)
        yield ok(f"{name} needs {counted(count, 'permission')}, and has {'it' if count == 1 else 'them all'}")
    if need.unknown:
        yield ok(f"{name}: not checked are {need.unknown}")


def _remedy(need: Need, permission: Permission, answers: Answers) -> str:
    same = [each for each in need.rights if (each.kind, each.name) == (permission.kind, permission.name)]
    implied = [each.operation for each in same if answers[each] and each.operation in _IMPLIES_DESCRIBE]
    if permission.operation == "Describe" and implied:
        return f"{implied[0]} implies it, so a rule denies it: find it by kafka-acls.sh --list, and remove it"
    return acl_command(need.props, permission)


def acl_command(props: Mapping[str, str], permission: Permission) -> str:
    """Return the command that gives the permission."""
    who = principal(props) or "User:PRINCIPAL"
    resource = [_OPTIONS[permission.kind], permission.prefix or permission.name]
    pattern = ["--resource-pattern-type", "prefixed"] if permission.prefix else []
    words = ["--bootstrap-server", props.get("bootstrap.servers", ""), "--add", "--allow-principal", who]
    return shlex.join(["kafka-acls.sh", *words, "--operation", permission.operation, *resource, *pattern])


def answers_of(queries: ClusterQueries, rights: Sequence[Permission]) -> Answers:
    """Ask the brokers about each permission. Raise ConnectError if they do not answer."""
    by_kind: dict[str, list[Permission]] = defaultdict(list)
    for permission in rights:
        by_kind[permission.kind].append(permission)
    found: dict[Permission, bool | None] = {}
    for permission in by_kind[ID]:
        ask = queries.may_write_id if permission.operation == "Write" else queries.may_describe_id
        found[permission] = ask(permission.name)
    for permission in by_kind[GROUP]:
        found[permission] = queries.may_read_group(permission.name)
    names = list(dict.fromkeys(permission.name for permission in by_kind[TOPIC]))
    topics = queries.topics(names) if names else {}
    for permission in by_kind[TOPIC]:
        found[permission] = _topic_answer(queries, topics[permission.name], permission)
    return found


def _topic_answer(queries: ClusterQueries, topic: Topic, permission: Permission) -> bool | None:
    if permission.operation == "Create":
        return topic.exists or _may_create(queries, topic)
    if topic.exists is None:  # without Describe, which most of the others imply
        return permission.operation == "DescribeConfigs" and _may_describe_configs(queries, topic.name)
    operations: Operations = topic.operations
    return None if operations is None else permission.operation in operations


def _may_create(queries: ClusterQueries, topic: Topic) -> bool:
    """Return True for a topic that exists, too: brokers say so only after they have checked the permission."""
    refusal = queries.creation_refusal(TopicSpec(topic.name, 1, 1))
    return refusal is None or not refusal.is_permission


def _may_describe_configs(queries: ClusterQueries, topic: str) -> bool:
    found = queries.settings(topic)
    return isinstance(found, dict) or not found.is_permission
