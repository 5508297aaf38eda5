# SPDX-License-Identifier: Apache-2.0
"""The collaborators of a distributed herder, by their users: its actions, and its requests and queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.distributed.group.rebalance_recorder import RebalanceRecorder
from headrace.distributed.herder_inbox import HerderInbox
from headrace.distributed.leader_requests import LeaderRequests
from headrace.distributed.status_reporter import StatusReporter
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.herder_queries import HerderQueries
from headrace.kafka.group.group_membership import GroupMember
from headrace.model.cluster_config_state import OffsetsTopic
from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore
from headrace.storage.status_backing_store import KafkaStatusBackingStore
from headrace.worker.stages import Stages
from headrace.worker.worker import Worker


@dataclass(frozen=True, slots=True)
class HerderServices:
    """The collaborators that perform the herder's actions."""

    worker: Worker
    config_store: KafkaConfigBackingStore
    status_store: KafkaStatusBackingStore
    statuses: StatusReporter
    member: GroupMember
    inbox: HerderInbox
    stages: Stages
    leader: LeaderRequests
    offsets_topic: Callable[[], OffsetsTopic]
    """Returns the workers' offsets topic as it was found at the start."""


@dataclass(frozen=True, slots=True)
class QueryServices:
    """The collaborators that serve requests and queries without the herder's own thread."""

    queries: HerderQueries
    validator: ConnectorValidator
    rebalances: RebalanceRecorder
