# SPDX-License-Identifier: Apache-2.0
"""The configuration that standalone and distributed workers have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.errors import ConfigError
from headrace.api.frame_sql import FUNCTIONS_ALLOWED, REFUSED_FUNCTIONS
from headrace.api.jdbc_urls import URLS_ALLOWED
from headrace.api.validators import CompositeValidator, LambdaValidator, NonEmptyString, Range, ValidList, ValidString
from headrace.config.access_config import AUTHENTICATION, define_access
from headrace.config.base_config import BaseConfig
from headrace.config.connector_config import FRAME_JOB_TIMEOUT, ISOLATIONS, TASK_ISOLATION
from headrace.config.engine_config import ConsoleLimits, EngineConfig
from headrace.config.header_rules import header_rules
from headrace.config.override_policy import ALL, ALLOWED_FILES, ALLOWED_URLS, ALLOWLIST_PROPERTY, POLICY_PROPERTY
from headrace.config.rest_limits import REQUEST_BYTES, REQUEST_TIMEOUT, define_rest_limits

BOOTSTRAP_SERVERS: Final = "bootstrap.servers"
CLIENT_ID: Final = "client.id"
LISTENERS: Final = "listeners"
ADMIN_LISTENERS: Final = "admin.listeners"
REST_EXTENSIONS: Final = "rest.extension.classes"
RESPONSE_HEADERS: Final = "response.http.headers.config"
ALLOWED_ORIGINS: Final = "access.control.allow.origin"
ALLOWED_METHODS: Final = "access.control.allow.methods"
ALLOWED_HOSTS: Final = "rest.allowed.hosts"
PLUGIN_PATH: Final = "plugin.path"
PLUGIN_MODULE_PREFIXES: Final = "plugin.module.prefixes"
CONNECTORS_ALLOWED: Final = "connectors.allowlist"
CONNECTORS_DENIED: Final = "connectors.denylist"
CONFIG_PROVIDERS: Final = "config.providers"
TASK_CHANNEL_TLS: Final = "task.channel.tls"
TASK_CHANNEL_PORT: Final = "task.channel.port"
ENGINE_CONSOLE_BYTES: Final = "engine.console.max.bytes"
ENGINE_CONSOLE_FILES: Final = "engine.console.max.files"
ENGINE_START_TIMEOUT: Final = "engine.start.timeout.ms"
FRAME_JOB_DEATHS: Final = "frame.job.deaths.max"
FRAME_JOB_WINDOW: Final = "frame.job.deaths.window.ms"
FRAME_RESULT_BYTES: Final = "frame.job.result.max.bytes"
FRAME_RESULT_ROWS: Final = "frame.job.result.max.rows"
LOG_FORMAT: Final = "log.format"
TOPIC_TRACKING: Final = "topic.tracking.enable"
TOPIC_TRACKING_RESET: Final = "topic.tracking.allow.reset"
_HOST: Final = re.compile(r"\.?[\w-]+(\.[\w-]+)*\.?|[0-9a-fA-F:]+")
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


def _check_listeners(name: str, value: list[str]) -> None:
    if name == LISTENERS and not value:
        raise ConfigError.invalid(name, "", "at least one listener is needed, like http://:8083")
    for listener in value or ():
        try:
            parts = urlsplit(listener)
            usable = parts.scheme.lower() in ("http", "https") and parts.port is not None
        except ValueError:
            usable = False
        if not usable:
            reason = "a listener is written as http://host:port or https://host:port, host may be empty"
            raise ConfigError.invalid(name, listener, reason)


def _check_hosts(name: str, value: list[str]) -> None:
    for host in value:
        if host != "*" and not _HOST.fullmatch(host):
            reason = "a host is a name without scheme and port, .name for all names below it, or * for any"
            raise ConfigError.invalid(name, host, reason)


def _check_header_rules(name: str, value: str) -> None:
    header_rules(name, value)


def _check_scheme(name: str, value: str | None) -> None:
    if value is not None and value.lower() not in ("http", "https"):
        raise ConfigError.invalid(name, value, "one of http, https expected")


def _worker_def() -> ConfigDef:
    high, low = Importance.HIGH, Importance.LOW
    definition = (
        ConfigDef()
        .define(BOOTSTRAP_SERVERS, Type.LIST, "localhost:9092", importance=high, validator=ValidList(allow_empty=False),
                doc="Brokers to find the Kafka cluster by, as host:port,...")
        .define(CLIENT_ID, Type.STRING, "", doc="Part of the client ids of the worker's own clients.")
        .define("key.converter", Type.STRING, importance=high, validator=NonEmptyString(),
                doc="Converter of record keys, for connectors that name none.")
        .define("value.converter", Type.STRING, importance=high, validator=NonEmptyString(),
                doc="Converter of record values, for connectors that name none.")
        .define("header.converter", Type.STRING, "org.apache.kafka.connect.storage.SimpleHeaderConverter",
                importance=low, validator=NonEmptyString(), doc="Converter of headers, for connectors that name none.")
        .define("task.shutdown.graceful.timeout.ms", Type.LONG, 5000, importance=low, validator=Range.at_least(0),
                doc="How long all tasks together may take to stop before their processes are killed.")
        .define("offset.flush.interval.ms", Type.LONG, 60000, importance=low, validator=Range.at_least(1),
                doc="How often tasks commit offsets, where exactly-once is off.")
        .define("offset.flush.timeout.ms", Type.LONG, 5000, importance=low, validator=Range.at_least(1),
                doc="How long records may take to be flushed before an offset commit is given up, to be tried later.")
        .define("offset.read.timeout.ms", Type.LONG, 30000, importance=low, validator=Range.at_least(1),
                doc="How long a task's start may wait for its offsets before it is tried again. headrace only.")
        .define(TASK_CHANNEL_TLS, Type.STRING, "auto", importance=low,
                validator=ValidString("auto", "always", "never"),
                doc="Whether tasks on a Spark cluster and this worker encrypt what they say to each other; auto: "
                    "unless they only reach each other on one machine. headrace only.")
        .define(TASK_CHANNEL_PORT, Type.INT, 0, importance=low, validator=Range.between(0, 65535),
                doc="Port at which this worker listens for its tasks on a Spark cluster; 0 is any. headrace only.")
        .define(ENGINE_CONSOLE_BYTES, Type.INT, 10 * 1024 * 1024, importance=low, validator=Range.at_least(4096),
                doc="Size of one file with what Spark and tasks print, and what is kept of one minute. headrace only.")
        .define(ENGINE_CONSOLE_FILES, Type.INT, 3, importance=low, validator=Range.between(1, 1000),
                doc="How many such files are kept, the newest ones. headrace only.")
        .define(ENGINE_START_TIMEOUT, Type.LONG, 300000, importance=low, validator=Range.at_least(1000),
                doc="How long Spark may take to start, with what it downloads and waits for in a cluster's queue, "
                    "before it is ended and started again. headrace only.")
        .define(URLS_ALLOWED, Type.LIST, "", importance=low, validator=ValidList(),
                doc="JDBC URLs that connectors may connect to, * standing for anything; by default those of databases "
                    "on other machines, without options that load classes or run scripts. headrace only.")
        .define(FRAME_JOB_TIMEOUT, Type.LONG, 600000, importance=low, validator=Range.at_least(1),
                doc="How long a frame job of a task (a query's, a sink's write) may run before it is cancelled and "
                    "tried again, for connectors that do not say themselves. headrace only.")
        .define(FRAME_JOB_DEATHS, Type.INT, 3, importance=low, validator=Range.at_least(1),
                doc="After how many deaths of Spark's engine during its frame jobs a connector's tasks are FAILED. "
                    "headrace only.")
        .define(FRAME_JOB_WINDOW, Type.LONG, 600000, importance=low, validator=Range.at_least(1),
                doc="For how long such a death counts. headrace only.")
        .define(FRAME_RESULT_BYTES, Type.LONG, 256 * 1024 * 1024, importance=low, validator=Range.at_least(1),
                doc="How many bytes, as Arrow, a frame job may make of one batch; with more it fails its task. "
                    "headrace only.")
        .define(FRAME_RESULT_ROWS, Type.LONG, 1000000, importance=low, validator=Range.at_least(1),
                doc="How many rows a frame job may make of one batch; with more it fails its task. headrace only.")
        .define(TASK_ISOLATION, Type.STRING, "none", importance=low, validator=ValidString(*ISOLATIONS),
                doc="none: the tasks of all connectors share the worker's Spark application and its JVM; connector: "
                    "those of each connector have one of their own. For connectors that do not say themselves. "
                    "headrace only.")
        .define(FUNCTIONS_ALLOWED, Type.LIST, "", importance=low, validator=ValidList(*REFUSED_FUNCTIONS),
                doc="Functions that SQL in configurations of connectors may use though they reach beyond a batch: "
                    "reflect calls methods of Java's. headrace only.")
        .define(LISTENERS, Type.LIST, "http://:8083", importance=low, doc="Where the REST API listens.",
                validator=LambdaValidator(_check_listeners, lambda: "http://host:port,..."))
        .define(ADMIN_LISTENERS, Type.LIST, None, importance=low,
                doc="Where /admin is served, and nothing else; by default with the rest, and if empty nowhere.",
                validator=LambdaValidator(_check_listeners, lambda: "http://host:port,..."))
        .define(REST_EXTENSIONS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="REST extensions, in the order in which requests pass them.")
        .define(RESPONSE_HEADERS, Type.STRING, "", importance=low,
                validator=LambdaValidator(_check_header_rules, lambda: "action name:value,..."),
                doc="Headers of all answers: set|add|setDate|addDate name:value,...")
        .define(ALLOWED_ORIGINS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Origins whose pages may use the API (CORS); * in one is any text.")
        .define(ALLOWED_METHODS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Methods that they may use; by default GET, POST and HEAD.")
        .define(ALLOWED_HOSTS, Type.LIST, "", importance=low,
                validator=CompositeValidator(ValidList(), LambdaValidator(_check_hosts, lambda: "name,.name,...")),
                doc="Names, beside its own, that requests may address the worker by; .name is all names below it, * "
                    "any name. headrace only.")
        .define(LOG_FORMAT, Type.STRING, "text", importance=low, validator=ValidString("text", "json"),
                doc="How log lines look: text, or each as a JSON object. headrace only.")
        .define("rest.advertised.host.name", Type.STRING, None, importance=low, doc="Host other workers reach this by.")
        .define("rest.advertised.port", Type.INT, None, importance=low, doc="Port other workers reach this by.")
        .define("rest.advertised.listener", Type.STRING, None, importance=low, doc="http or https.",
                validator=LambdaValidator(_check_scheme, lambda: "http or https"))
        .define(PLUGIN_PATH, Type.LIST, None, importance=low, validator=ValidList(allow_null=True),
                doc="Directories with Python modules and packages of plugins, beside what is installed.")
        .define(PLUGIN_MODULE_PREFIXES, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Packages that connectors may name classes of (module:Class), beside those of plugin.path and of "
                    "installed plugins; * is all. headrace only.")
        .define(CONNECTORS_ALLOWED, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Connectors that may run, by any of their names, or by patterns (*, ?) of names; by default all. "
                    "headrace only.")
        .define(CONNECTORS_DENIED, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Connectors that may not run, in the same way, whatever else allows them. headrace only.")
        .define(CONFIG_PROVIDERS, Type.LIST, "", importance=low, validator=ValidList(),
                doc="Names of the providers that references like ${name:path:key} may be made to.")
        .define("topic.creation.enable", Type.BOOLEAN, True, importance=low,
                doc="Whether source connectors may define topics to be created (topic.creation.*).")
        .define(TOPIC_TRACKING, Type.BOOLEAN, True, importance=low,
                doc="Whether it is kept track of which topics connectors use (KIP-558).")
        .define(TOPIC_TRACKING_RESET, Type.BOOLEAN, True, importance=low,
                doc="Whether users may have it forgotten which topics a connector uses.")
        .define(POLICY_PROPERTY, Type.STRING, ALL, validator=NonEmptyString(),
                doc="Which client properties connectors may override: All, Allowlist, None, Principal or a class.")
        .define(ALLOWLIST_PROPERTY, Type.LIST, "", validator=ValidList(),
                doc="What the policy Allowlist allows.")
        .define(ALLOWED_URLS, Type.LIST, "", validator=ValidList(),
                doc="URLs of OAUTHBEARER that connectors may lead their clients to.")
        .define(ALLOWED_FILES, Type.LIST, "", validator=ValidList(),
                doc="Files of OAUTHBEARER that connectors may have their clients read.")
    )  # fmt: skip
    return define_access(define_rest_limits(definition))


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
    def log_format(self) -> str:
        return str(self.get(LOG_FORMAT))

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
        spark = {key: text for key, text in self.raw.items() if key.startswith("spark.")}
        return EngineConfig(
            spark,
            self.plugin_path,
            self.get(TASK_CHANNEL_TLS),
            self.get(TASK_CHANNEL_PORT),
            start_timeout=self.seconds(ENGINE_START_TIMEOUT),
            console=ConsoleLimits(self.get(ENGINE_CONSOLE_BYTES), self.get(ENGINE_CONSOLE_FILES)),
            rest_guarded=bool(self.get(REST_EXTENSIONS) or self.get(AUTHENTICATION)),
            frame_timeout=self.seconds(FRAME_JOB_TIMEOUT),
            frame_deaths=self.get(FRAME_JOB_DEATHS),
            frame_window=self.seconds(FRAME_JOB_WINDOW),
            frame_result_bytes=self.get(FRAME_RESULT_BYTES),
            frame_result_rows=self.get(FRAME_RESULT_ROWS),
            isolation=self.get(TASK_ISOLATION),
        )

    def for_tasks(self) -> dict[str, str]:
        """Return the properties that a task's process needs: all but those of Spark, the REST API and config providers.

        The directories of plugins are absolute, since the process may run in another directory.
        """
        needed = {key: text for key, text in self.raw.items() if not key.startswith(_NOT_FOR_TASKS)}
        if self.plugin_path:
            needed[PLUGIN_PATH] = ",".join(str(Path(directory).absolute()) for directory in self.plugin_path)
        return needed
