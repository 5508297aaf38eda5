# SPDX-License-Identifier: Apache-2.0
"""The configuration that standalone and distributed workers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.validators import NonEmptyString, Range, ValidList, ValidString
from headrace.config.access_config import AUTHENTICATION, define_access
from headrace.config.base_config import BaseConfig
from headrace.config.connector_config import STALLED_TIMEOUT
from headrace.config.engine_config import EngineConfig, define_engine, define_frame_jobs, engine_config
from headrace.config.java_config import define_java_options
from headrace.config.override_policy import ALL, ALLOWED_FILES, ALLOWED_URLS, ALLOWLIST_PROPERTY, POLICY_PROPERTY
from headrace.config.rest_config import (
    ADMIN_LISTENERS,
    ALLOWED_METHODS,
    ALLOWED_ORIGINS,
    LISTENERS,
    REQUEST_BYTES,
    REQUEST_TIMEOUT,
    RESPONSE_HEADERS,
    REST_EXTENSIONS,
    define_rest,
    define_rest_limits,
)
from headrace.config.restart_config import RestartRules, define_task_restarts, restart_rules
from headrace.config.telemetry_config import define_telemetry

BOOTSTRAP_SERVERS: Final = "bootstrap.servers"
CLIENT_ID: Final = "client.id"
PLUGIN_PATH: Final = "plugin.path"
PLUGIN_MODULE_PREFIXES: Final = "plugin.module.prefixes"
CONNECTORS_ALLOWED: Final = "connectors.allowlist"
CONNECTORS_DENIED: Final = "connectors.denylist"
SINGER_COMMANDS: Final = "singer.commands.allowed"
CONFIG_PROVIDERS: Final = "config.providers"
LOG_FORMAT: Final = "log.format"
LOG_KEPT_BYTES: Final = "log.kept.bytes"
METRICS_NAMING: Final = "metrics.naming"
CLIENT_METRICS_INTERVAL: Final = "metrics.clients.interval.ms"
TOPIC_TRACKING: Final = "topic.tracking.enable"
TOPIC_TRACKING_RESET: Final = "topic.tracking.allow.reset"
_NOT_FOR_TASKS: Final = (
    *("spark.", "task.channel.", "engine.", "rest.", LISTENERS, ADMIN_LISTENERS),
    *(RESPONSE_HEADERS, ALLOWED_ORIGINS, ALLOWED_METHODS),
    CONFIG_PROVIDERS,
)


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """One of the worker's internal topics; partitions and replication factor of -1 are the brokers' defaults."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]


def _worker_def() -> ConfigDef:
    definition = ConfigDef()
    for define in (_define_basics, define_engine, define_frame_jobs, define_rest, _define_plugins, _define_topics):
        define(definition)
    for define in (_define_policies, define_rest_limits, define_access, define_task_restarts, define_telemetry):
        define(definition)
    return define_java_options(definition)


def _define_basics(definition: ConfigDef) -> ConfigDef:
    high, low = Importance.HIGH, Importance.LOW
    return (
        definition
        .define(BOOTSTRAP_SERVERS, Type.LIST, "localhost:9092", importance=high, validator=ValidList(allow_empty=False),
                doc="Brokers for the first connection to the Kafka cluster, as host:port,...")
        .define(CLIENT_ID, Type.STRING, "", doc="Part of the client ids of the worker's own clients.")
        .define("key.converter", Type.STRING, importance=high, validator=NonEmptyString(),
                doc="Converter of record keys, for connectors that do not set one.")
        .define("value.converter", Type.STRING, importance=high, validator=NonEmptyString(),
                doc="Converter of record values, for connectors that do not set one.")
        .define("header.converter", Type.STRING, "org.apache.kafka.connect.storage.SimpleHeaderConverter",
                importance=low, validator=NonEmptyString(),
                doc="Converter of headers, for connectors that do not set one.")
        .define("task.shutdown.graceful.timeout.ms", Type.LONG, 5000, importance=low, validator=Range.at_least(0),
                doc="The time in ms within which all tasks together have to stop before their processes are killed.")
        .define("offset.flush.interval.ms", Type.LONG, 60000, importance=low, validator=Range.at_least(1),
                doc="The interval in ms at which tasks commit offsets, if exactly-once is disabled.")
        .define("offset.flush.timeout.ms", Type.LONG, 5000, importance=low, validator=Range.at_least(1),
                doc="The time in ms within which records have to be flushed for an offset commit; otherwise it is "
                    "cancelled and retried later.")
        .define("offset.read.timeout.ms", Type.LONG, 30000, importance=low, validator=Range.at_least(1),
                doc="The time in ms that a task's start may wait for its offsets before it is retried. headrace only.")
        .define(STALLED_TIMEOUT, Type.LONG, 300000, importance=low, validator=Range.at_least(1),
                doc="The time in ms without progress after which the health of a task that has something to do is "
                    "stalled; connectors may override it. headrace only.")
        .define(LOG_FORMAT, Type.STRING, "text", importance=low, validator=ValidString("text", "json"),
                doc="Format of log lines: text, or one JSON object per line. headrace only.")
        .define(LOG_KEPT_BYTES, Type.INT, 2097152, importance=low, validator=Range.between(0, 268435456),
                doc="The bytes of log lines that the worker keeps in memory, for GET /connectors/{connector}/logs; "
                    "0 for none. headrace only.")
        .define(METRICS_NAMING, Type.STRING, "strimzi", importance=low,
                validator=ValidString("strimzi", "confluent", "both"),
                doc="Names of metrics for Prometheus: strimzi for those of the JMX exporter's example rules and "
                    "Strimzi's, confluent for those of Confluent's and Aiven's, or both. headrace only.")
        .define(CLIENT_METRICS_INTERVAL, Type.INT, 0, importance=low, validator=Range.between(0, 86400000),
                doc="The interval in ms at which the Kafka clients of tasks report their own metrics; 0 is never. "
                    "headrace only.")
    )  # fmt: skip


def _define_plugins(definition: ConfigDef) -> ConfigDef:
    low = Importance.LOW
    return (
        definition
        .define(PLUGIN_PATH, Type.LIST, None, importance=low, validator=ValidList(allow_null=True),
                doc="Directories with Python modules and packages of plugins, in addition to installed plugins, and "
                    "with Java plugins: a directory of jars for each, or a single jar.")
        .define(PLUGIN_MODULE_PREFIXES, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Packages of which connectors may name classes (module:Class), in addition to plugin.path and "
                    "installed plugins; * is all. headrace only.")
        .define(CONNECTORS_ALLOWED, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Connectors that may run, by any of their names, or by patterns (*, ?) of names; by default all. "
                    "headrace only.")
        .define(CONNECTORS_DENIED, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Connectors that may not run, by names or patterns; they have priority over "
                    "connectors.allowlist. headrace only.")
        .define(SINGER_COMMANDS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Programs that the singer.command of connectors may start, by patterns of their names or absolute "
                    "paths; * is all. By default only what headrace singer install has installed. headrace only.")
        .define(CONFIG_PROVIDERS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Names of the config providers for references like ${name:path:key}.")
    )  # fmt: skip


def _define_topics(definition: ConfigDef) -> ConfigDef:
    low = Importance.LOW
    return (
        definition
        .define("topic.creation.enable", Type.BOOLEAN, True, importance=low,
                doc="Whether source connectors may define topics to be created (topic.creation.*).")
        .define(TOPIC_TRACKING, Type.BOOLEAN, True, importance=low,
                doc="Whether the topics that connectors use are tracked (KIP-558).")
        .define(TOPIC_TRACKING_RESET, Type.BOOLEAN, True, importance=low,
                doc="Whether users may reset the list of topics that a connector uses.")
    )  # fmt: skip


def _define_policies(definition: ConfigDef) -> ConfigDef:
    return (
        definition
        .define(POLICY_PROPERTY, Type.STRING, ALL, validator=NonEmptyString(),
                doc="Which client properties connectors may override: All, Allowlist, None, Principal or a class.")
        .define(ALLOWLIST_PROPERTY, Type.LIST, "", validator=ValidList(),
                doc="Client properties that the policy Allowlist allows.")
        .define(ALLOWED_URLS, Type.LIST, "", validator=ValidList(),
                doc="URLs of OAUTHBEARER that connectors' clients may request.")
        .define(ALLOWED_FILES, Type.LIST, "", validator=ValidList(),
                doc="Files of OAUTHBEARER that connectors' clients may read.")
    )  # fmt: skip


class WorkerConfig(BaseConfig):
    """The configuration of a worker. Java: ``WorkerConfig``.

    Properties that it does not define are in ``raw``: prefixes (``producer.``, ``consumer.``, ``admin.``, ``spark.``),
    converters' own settings, client settings.
    """

    DEFINITION: ConfigDef = _worker_def()

    def __init__(self, props: Mapping[str, str | None]) -> None:
        super().__init__(self.DEFINITION, props)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self.get(BOOTSTRAP_SERVERS))

    @property
    def group_id(self) -> str | None:
        """The group of workers; None for a standalone worker."""
        return None

    @property
    def exactly_once_source_enabled(self) -> bool:
        """True if source tasks write in transactions (KIP-618), which needs a group of workers."""
        return False

    @property
    def offset_topic(self) -> InternalTopic | None:
        """The topic that stores source offsets; None if they are stored elsewhere."""
        return None

    def transactional_id(self, connector: str, task: int) -> str:
        """Return the ``transactional.id`` of a source task in a group of workers (invariant 2)."""
        return f"{self.group_id}-{connector}-{task}"

    @property
    def client_id(self) -> str:
        """The user's value, else the empty string."""
        return str(self.get(CLIENT_ID))

    @property
    def topic_tracking(self) -> bool:
        """True if the worker tracks the topics that connectors use (KIP-558)."""
        return bool(self.get(TOPIC_TRACKING))

    @property
    def topic_tracking_reset(self) -> bool:
        """True if users may reset the tracked topics."""
        return bool(self.get(TOPIC_TRACKING_RESET))

    @property
    def graceful_timeout(self) -> float:
        """Seconds."""
        return self.seconds("task.shutdown.graceful.timeout.ms")

    @property
    def offset_flush_interval(self) -> float:
        """Seconds."""
        return self.seconds("offset.flush.interval.ms")

    @property
    def offset_flush_timeout(self) -> float:
        """Seconds."""
        return self.seconds("offset.flush.timeout.ms")

    @property
    def offset_read_timeout(self) -> float:
        """Seconds."""
        return self.seconds("offset.read.timeout.ms")

    @property
    def restart_rules(self) -> RestartRules:
        """The rules of automatic restarts, for connectors that have no own ones."""
        return restart_rules(self)

    @property
    def log_format(self) -> str:
        return str(self.get(LOG_FORMAT))

    @property
    def metrics_naming(self) -> str:
        return str(self.get(METRICS_NAMING))

    @property
    def listeners(self) -> tuple[str, ...]:
        return tuple(self.get(LISTENERS))

    @property
    def admin_listeners(self) -> tuple[str, ...] | None:
        """The listeners of ``/admin``. None: it is served with the rest. Empty: it is not served."""
        given = self.get(ADMIN_LISTENERS)
        return None if given is None else tuple(given)

    @property
    def rest_request_timeout(self) -> float:
        """Seconds."""
        return self.seconds(REQUEST_TIMEOUT)

    @property
    def rest_request_max_bytes(self) -> int:
        return int(self.get(REQUEST_BYTES))

    @property
    def plugin_path(self) -> tuple[str, ...]:
        return tuple(self.get("plugin.path") or ())

    @property
    def topic_creation_enabled(self) -> bool:
        return bool(self.get("topic.creation.enable"))

    @property
    def engine(self) -> EngineConfig:
        guarded = bool(self.get(REST_EXTENSIONS) or self.get(AUTHENTICATION))
        return engine_config(self, self.plugin_path, rest_guarded=guarded)

    def for_tasks(self) -> dict[str, str]:
        """Return the properties that a task's process needs: all but those of Spark, the REST API and config providers.

        The directories of plugins are absolute, since the process may run in another directory.
        """
        needed = {key: text for key, text in self.raw.items() if not key.startswith(_NOT_FOR_TASKS)}
        if self.plugin_path:
            needed[PLUGIN_PATH] = ",".join(str(Path(directory).absolute()) for directory in self.plugin_path)
        return needed
