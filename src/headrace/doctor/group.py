# SPDX-License-Identifier: Apache-2.0
"""The check of the worker's group: who is in it now, and whether this worker can join them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.distributed_config import GROUP_ID, PROTOCOL, DistributedConfig
from headrace.distributed.group.connect_protocol import ConnectProtocol, MemberMetadata, decode_metadata
from headrace.doctor.findings import Finding, counted, ok, problem, warning
from headrace.doctor.subject import Connector, Subject
from headrace.kafka.admin.cluster_queries import Group, Member
from headrace.model.assignment import GroupTopics

_KIND: Final = "connect"


def check_group(subject: Subject) -> Iterator[Finding]:
    """Describe the worker's group, and compare it with the worker's configuration."""
    config = subject.distributed
    if config is None:
        return
    try:
        group = subject.kafka.queries(client_configs.admin(config)).group(config.group_id)
    except ConnectError as error:
        yield warning(f"not checked: {error}", "repair what brokers reports first")
        return
    if group is None:
        found = f"{GROUP_ID}={config.group_id}: the worker may not describe the group"
        yield warning(found, "give it the permissions that the check of permissions names")
        return
    yield from group_findings(config, group)
    try:
        yield from consumer_group_findings(config, subject.kafka.connectors(config))
    except ConnectError:  # the check of permissions reports it
        return


def group_findings(config: DistributedConfig, group: Group) -> Iterator[Finding]:
    """Return the findings about the group."""
    name = f"{GROUP_ID}={group.id}"
    if group.kind not in ("", _KIND):
        members = f", members {', '.join(each.client_id for each in group.members)}" if group.members else ""
        found = f"{name} is the group of others: its protocol type is {group.kind} ({group.state}{members})"
        yield problem(found, f"choose another {GROUP_ID} for the workers")
        return
    if not group.members:
        yield ok(f"{name} has no worker now")
        return
    workers = [_metadata(each) for each in group.members]
    named = zip(workers, group.members, strict=True)
    urls = ", ".join(worker.url if worker else f"{member.client_id} at {member.host}" for worker, member in named)
    protocol = group.protocol or "not chosen yet"
    yield ok(f"{name}: {counted(len(workers), 'worker')} ({urls}), state {group.state}, protocol {protocol}")
    yield from _protocol_findings(config, group)
    yield from _topic_findings(config, [each for each in workers if each is not None])


def _metadata(member: Member) -> MemberMetadata | None:
    try:
        return decode_metadata(member.metadata)
    except ConnectError:  # while it joins it has none, and a stranger's may be anything
        return None


def _protocol_findings(config: DistributedConfig, group: Group) -> Iterator[Finding]:
    protocols = ConnectProtocol.offered(config.connect_protocol, config.connect_protocol_minimum)
    offered = [each.group_name for each in protocols]
    if group.protocol and group.protocol not in offered:
        found = f"{GROUP_ID}={group.id} uses the protocol {group.protocol}; this worker offers {', '.join(offered)}"
        yield warning(found, f"compare {PROTOCOL} and {PROTOCOL}.minimum of all workers")


def _topic_findings(config: DistributedConfig, workers: Sequence[MemberMetadata]) -> Iterator[Finding]:
    """Return a finding for each worker of the group that names other internal topics: one group, one cluster."""
    own = GroupTopics(config.config_topic.name, config.offset_topic.name, config.status_topic.name)
    for worker in workers:
        if worker.topics is not None and worker.topics != own:
            found = f"worker {worker.url} of the group uses other internal topics: {worker.topics}"
            yield problem(found, f"give each cluster a {GROUP_ID} of its own, and all its workers the same topics")


def consumer_group_findings(config: DistributedConfig, connectors: Sequence[Connector]) -> Iterator[Finding]:
    """Return a finding for each sink whose consumer group is the workers' group."""
    for connector in connectors:
        if connector.kind != "sink":
            continue
        group = client_configs.sink_task_consumer(config, connector.config, 0)[GROUP_ID]
        if group == config.group_id:
            found = f"the consumer group of sink {connector.name} is {group}, the workers' group"
            yield problem(found, "rename the connector, or give it consumer.override.group.id")
