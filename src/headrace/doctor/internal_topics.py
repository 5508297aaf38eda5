# SPDX-License-Identifier: Apache-2.0
"""The check of the three internal topics: those that exist, and those that the first worker has to create."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.config.worker_config import InternalTopic
from headrace.doctor.findings import Finding, counted, ok, problem, warning
from headrace.doctor.subject import Subject
from headrace.kafka.admin.cluster_queries import Refusal, Topic
from headrace.kafka.admin.topic_admin import TopicSpec

_REPLICAS: Final = 3
_POLICY: Final = "cleanup.policy"
_MIN_IN_SYNC: Final = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """An internal topic: the worker's ``kind`` of it and wishes, and the brokers' answers.

    ``settings`` are those of a topic that exists, ``refusal`` is that of a validated creation of one that does not.
    ``brokers`` is their number.
    """

    kind: str
    wanted: InternalTopic
    found: Topic
    settings: Mapping[str, str | None] | Refusal
    refusal: Refusal | None
    brokers: int


def check_internal_topics(subject: Subject) -> Iterator[Finding]:
    """Check the internal topics of a worker in a group."""
    config = subject.distributed
    if config is None:
        return
    yield from name_findings(config)
    try:
        facts = tuple(_facts(subject, config))
    except ConnectError as error:
        yield warning(f"not checked: {error}", "repair what brokers reports first")
        return
    for each in facts:
        yield from topic_findings(each)


def name_findings(config: DistributedConfig) -> Iterator[Finding]:
    """Return a finding if two of the topics have the same name."""
    names = [topic.name for topic in (config.config_topic, config.offset_topic, config.status_topic)]
    if len(set(names)) < len(names):
        yield problem(
            f"two internal topics have the same name: {', '.join(names)}", "name three topics in *.storage.topic"
        )


def _facts(subject: Subject, config: DistributedConfig) -> Iterator[TopicFacts]:
    queries = subject.kafka.queries(client_configs.admin(config))
    wanted = {"config": config.config_topic, "offset": config.offset_topic, "status": config.status_topic}
    found = queries.topics(list({topic.name for topic in wanted.values()}))
    brokers = len(queries.cluster().brokers)
    for kind, topic in wanted.items():
        exists = found[topic.name].exists
        spec = TopicSpec(topic.name, topic.partitions, topic.replication_factor, topic.config)
        refusal = queries.creation_refusal(spec) if exists is False else None
        settings = queries.settings(topic.name) if exists else {}
        yield TopicFacts(kind, topic, found[topic.name], settings, refusal, brokers)


def topic_findings(facts: TopicFacts) -> Iterator[Finding]:
    """Return the findings about one topic."""
    if facts.found.exists is None:
        found = f"{facts.wanted.name}: the worker may not describe it"
        yield warning(found, "give it the permissions that the check of permissions names")
    elif facts.found.exists:
        yield from _existing_findings(facts)
    else:
        yield _creation_finding(facts)


def _creation_finding(facts: TopicFacts) -> Finding:
    wanted, prefix = facts.wanted, f"{facts.kind}.storage"
    if facts.refusal is None:
        numbers = f"{_or_default(wanted.partitions, 'partition')}, {_or_default(wanted.replication_factor, 'replica')}"
        return ok(f"{wanted.name} does not exist; the first worker can create it ({numbers})")
    found = f"{wanted.name} does not exist, and cannot be created: {facts.refusal.message or facts.refusal.code}"
    if facts.refusal.is_permission:
        remedy = "create it, compacted, or give the worker the permission Create"
    elif wanted.replication_factor > facts.brokers:
        remedy = f"set {prefix}.replication.factor={facts.brokers}, the number of brokers, or start more brokers"
    else:
        remedy = f"correct {prefix}.*, or create the topic, compacted"
    return problem(found, remedy)


def _existing_findings(facts: TopicFacts) -> Iterator[Finding]:
    partitions = facts.found.partitions
    replicas = min((each.replicas for each in partitions), default=0)
    found = [*_partition_findings(facts), *_setting_findings(facts, replicas)]
    if replicas < _REPLICAS:
        lost = f"{facts.found.name} has {counted(replicas, 'replica')}: its records are lost with a broker's disk"
        if replicas > 1:
            lost = f"{facts.found.name} has {counted(replicas, 'replica')}: one more broker's loss stops its writers"
        found.append(warning(lost, "use 3 replicas in production (kafka-reassign-partitions.sh)"))
    good = f"{facts.found.name}: {counted(len(partitions), 'partition')}, {counted(replicas, 'replica')}, compacted"
    yield from found or [ok(good)]


def _partition_findings(facts: TopicFacts) -> Iterator[Finding]:
    name, partitions = facts.found.name, facts.found.partitions
    if facts.kind == "config" and len(partitions) != 1:
        found = f"{name} has {len(partitions)} partitions and must have one, or records lose their order"
        yield problem(found, "name another topic in config.storage.topic, or create it again with one partition")
    leaderless = [str(each.id) for each in partitions if each.leader < 0]
    if leaderless:
        found = f"{name}: no leader of {'partition' if len(leaderless) == 1 else 'partitions'} {', '.join(leaderless)}"
        yield problem(found, "start the brokers that have its replicas")
    behind = [str(each.id) for each in partitions if each.leader >= 0 and each.in_sync < each.replicas]
    if behind:
        found = f"{name}: replicas are offline or behind, of partitions {', '.join(behind)}"
        yield warning(found, "start the brokers that have its replicas")


def _setting_findings(facts: TopicFacts, replicas: int) -> Iterator[Finding]:
    name, settings = facts.found.name, facts.settings
    if isinstance(settings, Refusal):
        found = f"{name}: whether it is compacted is not known: {settings.message or settings.code}"
        yield warning(found, "give the worker the permission DescribeConfigs on the topic")
        return
    policy = settings.get(_POLICY) or ""
    if policy != "compact":
        found = f"{name} has {_POLICY}={policy} and would lose records, so the worker does not start with it"
        command = f"kafka-configs.sh --alter --topic {name} --add-config {_POLICY}=compact"
        yield problem(found, f"{command}, if no record is lost yet, or name another topic")
    least = int(settings.get(_MIN_IN_SYNC) or 1)
    in_sync = min((each.in_sync for each in facts.found.partitions), default=0)
    if least > replicas:
        found = f"{name} has {_MIN_IN_SYNC}={least} and {counted(replicas, 'replica')}: it cannot be written"
        yield problem(found, f"lower {_MIN_IN_SYNC} of the topic, or give it more replicas")
    elif least > in_sync:
        found = f"{name} has {_MIN_IN_SYNC}={least}, and {in_sync} are in sync: it cannot be written"
        yield problem(found, "start the brokers that have its replicas")
    elif least == 1 and replicas >= _REPLICAS:
        found = f"{name} has {_MIN_IN_SYNC}=1: what one broker alone has acknowledged can be lost"
        yield warning(found, f"set {_MIN_IN_SYNC}=2 of the topic (kafka-configs.sh --alter)")


def _or_default(number: int, what: str) -> str:
    return f"the brokers' default of {what}s" if number < 0 else counted(number, what)
