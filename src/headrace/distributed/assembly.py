# SPDX-License-Identifier: Apache-2.0
"""The assembly of a distributed herder from a worker's configuration."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from headrace.config import client_configs
from headrace.config.connector_config import STALLED_TIMEOUT
from headrace.config.distributed_config import DistributedConfig
from headrace.config.session_key_config import SessionKeyRules
from headrace.config.worker_config import InternalTopic
from headrace.distributed.distributed_herder import DistributedHerder, GroupHealth
from headrace.distributed.group.connect_protocol import ConnectProtocol
from headrace.distributed.group.foreign_members import foreign_group_error
from headrace.distributed.group.group_leader import GroupLeader
from headrace.distributed.group.rebalance_recorder import RebalanceRecorder
from headrace.distributed.group.worker_coordinator import HerderView, OutdatedTasksWait, WorkerCoordinator
from headrace.distributed.stores import TopicStores, check_config_topic, check_offsets_topic
from headrace.distributed.worker_requests import SignedWorkerRequests
from headrace.herder.cluster_workers import ClusterWorkers, WorkerSources
from headrace.herder.connector_health import ConnectorHealth, HealthServices
from headrace.herder.connector_history import ConnectorHistory, HistoryServices
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.core.config_lag import sync_rules
from headrace.herder.core.herder_state import HerderState, SyncRules
from headrace.herder.engine.herder_inbox import HerderInbox
from headrace.herder.engine.herder_services import HerderServices, LeaderRequests, QueryServices
from headrace.herder.engine.statuses import StatusReporter
from headrace.herder.engine.update_listeners import ConfigUpdateListener, StatusUpdateListener
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import WorkerParts
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from headrace.kafka.clients.client_config import kafka_python_config
from headrace.kafka.group.group_membership import GroupMember, GroupSettings
from headrace.logs.loggers import Loggers
from headrace.model.assignment import GroupTopics
from headrace.model.cluster_config_state import OffsetsTopic
from headrace.model.deadline import Clock
from headrace.plugins.discovery import Plugins
from headrace.storage.internal_topic import LogClients, compacted_topic
from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore
from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
from headrace.storage.status_backing_store import KafkaStatusBackingStore
from headrace.telemetry.tracing import NO_TRACING, Tracing
from headrace.worker.stages import Stages
from headrace.worker.tasks.task_launcher import TaskLauncher
from headrace.worker.worker import Worker

log = logging.getLogger(__name__)


def distributed_herder(
    config: DistributedConfig,
    plugins: Plugins,
    launcher: TaskLauncher,
    advertised_url: str,
    leader: LeaderRequests,
    clock: Clock = time.monotonic,
    loggers: Loggers | None = None,
    tracing: Tracing = NO_TRACING,
) -> DistributedHerder:
    """Return a herder that is ready to start, over Kafka and the engine of ``launcher``; connects to nothing yet.

    ``advertised_url`` is that of the REST API for other workers; its host:port is the worker's id in statuses.
    ``leader`` sends requests to the group's leader. ``loggers`` follow levels that are set for the whole cluster. Raise
    ConfigError for client properties that cannot be used.
    """
    inbox, stages, worker_id = HerderInbox(clock), Stages(clock), urlsplit(advertised_url).netloc
    config_store = _config_store(config, ConfigUpdateListener(inbox, loggers or Loggers()))
    listener = StatusUpdateListener(inbox, config_store.snapshot, lambda name: worker.forget_topics(name))
    status_store = _status_store(config, listener)
    offset_store = KafkaOffsetBackingStore(_topic(config.offset_topic, "offset.storage"), _offset_clients(config))
    stores = _stores(config, config_store, status_store, offset_store, stages)

    # The herder is created last: it needs the coordinator, which calls it only once both are started.
    coordinator = _coordinator(config, advertised_url, config_store, inbox, lambda: herder, clock)
    rebalances = RebalanceRecorder(coordinator, clock, tracing)

    statuses = StatusReporter(status_store, worker_id, lambda: coordinator.generation, config.topic_tracking)
    worker = Worker(config, plugins, launcher, offset_store, statuses, clock)
    statuses.version_of = worker.version
    member = _member(config, worker_id, rebalances)
    offsets_topic = partial(_offsets_topic, offset_store)
    services = HerderServices(
        worker, config_store, status_store, statuses, member, inbox, stages, leader, offsets_topic
    )
    validator = ConnectorValidator(config, plugins, worker.override_policy, worker.transformer, launcher.analyse)
    queries = HerderQueries(
        config_store.snapshot, status_store, worker.connector_type, plugins.describe, stores.cluster_id
    )
    scheme = urlsplit(advertised_url).scheme
    others, parts = SignedWorkerRequests(leader, scheme, config_store.snapshot), WorkerParts(worker_id, stages, clock)
    sources = HealthServices(worker_id, worker.task_facts, config.get(STALLED_TIMEOUT), others)
    connectors = ConnectorHealth(queries, sources, parts, stages)
    past = ConnectorHistory(queries, HistoryServices(worker_id, worker.rate_history, others), parts, stages)
    reports = WorkerSources(
        advertised_url, worker, lambda: herder.state, config_store.refresh, coordinator.member_urls, others
    )
    workers = ClusterWorkers(queries, reports, parts, stages)
    health = GroupHealth(services, member, stores, status_store)
    query_services = QueryServices(queries, validator, connectors, past, workers)
    herder = DistributedHerder(_initial_state(config), services, stores, health, query_services, rebalances, clock)
    return herder


def _initial_state(config: DistributedConfig) -> HerderState:
    return HerderState(
        exactly_once=config.exactly_once_source_enabled,
        session_keys=_session_keys(config),
        restarts=config.restart_rules,
        sync=_sync(config),
    )


def _coordinator(
    config: DistributedConfig,
    url: str,
    config_store: KafkaConfigBackingStore,
    inbox: HerderInbox,
    herder: Callable[[], DistributedHerder],
    clock: Clock,
) -> WorkerCoordinator:
    """``herder`` returns the herder once it is created; ``url`` is this worker's advertised REST URL."""
    topics = GroupTopics(config.config_topic.name, config.offset_topic.name, config.status_topic.name)

    def on_foreign_group(theirs: GroupTopics, their_url: str) -> None:
        herder().fail(foreign_group_error(config.group_id, topics, theirs, their_url))

    return WorkerCoordinator(
        url,
        ConnectProtocol.offered(config.connect_protocol, config.connect_protocol_minimum),
        GroupLeader(config.seconds("scheduled.rebalance.max.delay.ms"), clock),
        OutdatedTasksWait(config.graceful_timeout, clock),
        HerderView(config_store.snapshot, inbox.post, lambda: herder().state, on_foreign_group),
        topics,
    )


def _stores(
    config: DistributedConfig,
    config_store: KafkaConfigBackingStore,
    status_store: KafkaStatusBackingStore,
    offset_store: KafkaOffsetBackingStore,
    stages: Stages,
) -> TopicStores:
    admin = client_configs.admin(config)

    def check_topics() -> None:
        if config.accepts_recreated_topics:
            return
        known = config_store.snapshot()
        check_config_topic(known, config.config_topic.name, status_store.connectors())
        check_offsets_topic(known, _offsets_topic(offset_store))

    return TopicStores(
        (
            (config.config_topic.name, config_store),
            (config.status_topic.name, status_store),
            (config.offset_topic.name, offset_store),
        ),
        lambda: _cluster_id(admin),
        config.bootstrap_servers,
        stages,
        check_topics,
    )


def _offsets_topic(store: KafkaOffsetBackingStore) -> OffsetsTopic:
    return OffsetsTopic(store.topic, store.topic_id)


def _session_keys(config: DistributedConfig) -> SessionKeyRules | None:
    if config.connect_protocol != "sessioned":
        log.warning(
            "connect.protocol=%s has no session keys: no worker of the group signs what it asks of others, so whoever "
            "reaches a worker can change task configs. Use sessioned if that is not intended (KIP-507)",
            config.connect_protocol,
        )
        return None
    return SessionKeyRules(config.key_algorithm.name, config.key_bytes, config.key_ttl_ms)


def _sync(config: DistributedConfig) -> SyncRules:
    return sync_rules(
        config.seconds("worker.sync.timeout.ms"),
        config.seconds("worker.unsync.backoff.ms"),
        config.seconds("scheduled.rebalance.max.delay.ms"),
        eager=config.connect_protocol == "eager",
    )


def _config_store(config: DistributedConfig, listener: ConfigUpdateListener) -> KafkaConfigBackingStore:
    clients = LogClients(client_configs.config_log_consumer(config), None, client_configs.admin(config))
    topic = _topic(config.config_topic, "config.storage")
    return KafkaConfigBackingStore(topic, clients, client_configs.leader_producer(config), listener.on_config_update)


def _status_store(config: DistributedConfig, listener: StatusUpdateListener) -> KafkaStatusBackingStore:
    topic = _topic(config.status_topic, "status.storage")
    store = KafkaStatusBackingStore(topic, _status_clients(config), lambda keys: listener.on_status_update(store, keys))
    return store


def _status_clients(config: DistributedConfig) -> LogClients:
    return LogClients(
        client_configs.status_log_consumer(config),
        client_configs.status_log_producer(config),
        client_configs.admin(config),
    )


def _offset_clients(config: DistributedConfig) -> LogClients:
    return LogClients(
        client_configs.offsets_log_consumer(config),
        client_configs.offsets_log_producer(config),
        client_configs.admin(config),
    )


def _topic(topic: InternalTopic, prefix: str) -> TopicSpec:
    return compacted_topic(topic.name, prefix, topic.partitions, topic.replication_factor, topic.config)


def _cluster_id(admin_props: Mapping[str, str]) -> str:
    admin = TopicAdmin(admin_props)
    try:
        return admin.cluster_id()
    finally:
        admin.close()


def _member(config: DistributedConfig, worker_id: str, rebalances: RebalanceRecorder) -> GroupMember:
    group = GroupSettings(
        group_id=config.group_id,
        session_timeout=config.seconds("session.timeout.ms"),
        heartbeat_interval=config.seconds("heartbeat.interval.ms"),
        rebalance_timeout=config.seconds("rebalance.timeout.ms"),
    )
    return GroupMember(kafka_python_config(client_configs.group_member(config, worker_id)), group, rebalances)
