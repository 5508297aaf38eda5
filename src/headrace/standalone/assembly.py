# SPDX-License-Identifier: Apache-2.0
"""The assembly of a standalone herder from a worker's configuration."""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from headrace.config import client_configs
from headrace.config.connector_config import HEADER_CONVERTER, KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.standalone_config import StandaloneConfig
from headrace.herder.connector_validation import ConnectorValidator
from headrace.herder.herder_queries import HerderQueries
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.logs.loggers import Loggers
from headrace.model.deadline import Clock
from headrace.plugins.discovery import Plugins
from headrace.standalone.file_offset_backing_store import FileOffsetBackingStore
from headrace.standalone.kafka_cluster import KafkaCluster
from headrace.standalone.managed_connector import ConnectorServices
from headrace.standalone.standalone_herder import QueryServices, StandaloneHerder
from headrace.standalone.status_recorder import StatusRecorder
from headrace.storage.memory_config_backing_store import MemoryConfigBackingStore
from headrace.storage.memory_status_backing_store import MemoryStatusBackingStore
from headrace.worker.config_watch import after
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
) -> StandaloneHerder:
    """Return a herder that is ready to start, and the only one that has the offsets file until it is stopped.

    The host:port of ``advertised_url`` is the worker's id in statuses. Raise ConfigError for unknown converters, and
    for an offsets file that cannot be used.
    """
    _check_converters(config, plugins)
    stages = Stages(clock)
    offsets = FileOffsetBackingStore(config.offsets_file)
    offsets.start()
    configs, statuses = MemoryConfigBackingStore(), MemoryStatusBackingStore()
    recorder = StatusRecorder(statuses, urlsplit(advertised_url).netloc, config.topic_tracking)
    try:
        worker = Worker(config, plugins, launcher, offsets, recorder, clock)
        validator = ConnectorValidator(config, plugins, worker.override_policy, worker.transformer, launcher.analyse)
    except BaseException:
        offsets.stop()
        raise
    recorder.version_of = worker.version
    admin = client_configs.admin(config)
    cluster = KafkaCluster(lambda: _cluster_id(admin), stages)
    queries = HerderQueries(configs.snapshot, statuses, worker.connector_type, plugins.describe, cluster.id)
    services = ConnectorServices(worker, configs, statuses, recorder, stages, after)
    return StandaloneHerder(services, QueryServices(queries, validator, loggers or Loggers()), cluster, offsets)


def _check_converters(config: StandaloneConfig, plugins: Plugins) -> None:
    """Raise ConfigError at the start for an error that would fail every connector without converters of its own."""
    for property in (KEY_CONVERTER, VALUE_CONVERTER):
        plugins.converter(config.get(property), property)
    plugins.header_converter(config.get(HEADER_CONVERTER), HEADER_CONVERTER)


def _cluster_id(admin: Mapping[str, str]) -> str:
    client = TopicAdmin(admin)
    try:
        return client.cluster_id()
    finally:
        client.close()
