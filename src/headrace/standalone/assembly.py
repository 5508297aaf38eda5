# SPDX-License-Identifier: Apache-2.0
"""The assembly of a standalone herder from a worker's configuration."""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from headrace.config import client_configs
from headrace.config.connector_config import STALLED_TIMEOUT
from headrace.config.standalone_config import StandaloneConfig
from headrace.herder.cluster_workers import ClusterWorkers, WorkerSources
from headrace.herder.connector_health import ConnectorHealth, HealthServices
from headrace.herder.connector_history import ConnectorHistory, HistoryServices
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.core.herder_state import HerderState
from headrace.herder.engine.herder_inbox import HerderInbox
from headrace.herder.engine.herder_services import HerderServices, QueryServices
from headrace.herder.engine.statuses import StatusReporter
from headrace.herder.engine.update_listeners import ConfigUpdateListener, StatusUpdateListener
from headrace.herder.engine.worker_herder import WorkerHerder
from headrace.herder.herder_queries import HerderQueries
from headrace.herder.worker_parts import WorkerParts
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.logs.loggers import Loggers
from headrace.model.deadline import Clock
from headrace.plugins.discovery import Plugins
from headrace.standalone.file_offset_backing_store import FileOffsetBackingStore
from headrace.standalone.sole_member import GENERATION, KafkaCluster, LocalHealth, LocalStores, SoleMember
from headrace.storage.memory_config_backing_store import MemoryConfigBackingStore
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore
from headrace.worker.stages import Stages
from headrace.worker.tasks.task_launcher import TaskLauncher
from headrace.worker.worker import Worker


def standalone_herder(
    config: StandaloneConfig,
    plugins: Plugins,
    launcher: TaskLauncher,
    advertised_url: str,
    clock: Clock = time.monotonic,
    loggers: Loggers | None = None,
) -> WorkerHerder:
    """Return a herder that is ready to start, and the only one that has the offsets file until it is stopped.

    The host:port of ``advertised_url`` is the worker's id in statuses. Raise ConfigError for an offsets file that
    cannot be used.
    """
    inbox, stages = HerderInbox(clock), Stages(clock)
    offsets = FileOffsetBackingStore(config.offsets_file)
    offsets.start()
    configs = MemoryConfigBackingStore(ConfigUpdateListener(inbox, loggers or Loggers()).on_config_update)
    listener = StatusUpdateListener(inbox, configs.snapshot, lambda name: worker.forget_topics(name))
    statuses = MemoryStatusBackingStore(lambda keys: listener.on_status_update(statuses, keys))
    worker_id = urlsplit(advertised_url).netloc
    reporter = StatusReporter(statuses, worker_id, lambda: GENERATION, config.topic_tracking)
    try:
        worker = Worker(config, plugins, launcher, offsets, reporter, clock)
        validator = ConnectorValidator(config, plugins, worker.override_policy, worker.transformer, launcher.analyse)
    except BaseException:
        offsets.stop()
        raise
    reporter.version_of = worker.version
    admin = client_configs.admin(config)
    cluster = KafkaCluster(lambda: _cluster_id(admin), stages)
    member = SoleMember(advertised_url, configs.snapshot, inbox.post)
    services = HerderServices(worker, configs, statuses, reporter, member, inbox, stages)
    queries = HerderQueries(configs.snapshot, statuses, worker.connector_type, plugins.describe, cluster.id)
    sources = HealthServices(worker_id, worker.task_facts, config.get(STALLED_TIMEOUT))
    parts = WorkerParts(worker_id, stages, clock)
    health = ConnectorHealth(queries, sources, parts, stages)
    past = ConnectorHistory(queries, HistoryServices(worker_id, worker.rate_history), parts, stages)
    reports = WorkerSources(advertised_url, worker, lambda: herder.state, configs.refresh)
    workers = ClusterWorkers(queries, reports, parts, stages)
    herder = WorkerHerder(
        HerderState(exactly_once=False, restarts=config.restart_rules, alone=True),
        services,
        LocalStores(offsets, cluster),
        LocalHealth(services, offsets, cluster),
        QueryServices(queries, validator, health, past, workers),
        clock,
    )
    return herder


def _cluster_id(admin: Mapping[str, str]) -> str:
    client = TopicAdmin(admin)
    try:
        return client.cluster_id()
    finally:
        client.close()
