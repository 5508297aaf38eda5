# SPDX-License-Identifier: Apache-2.0
"""The properties of all connectors that the runtime understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type, Width, parse_type
from headrace.api.errors import ConfigError
from headrace.api.validators import (
    CompositeValidator,
    LambdaValidator,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Nullable,
    Range,
    TopicName,
    ValidString,
)
from headrace.config.base_config import BaseConfig
from headrace.config.java_config import define_connector_java_options
from headrace.config.restart_config import define_connector_restarts

NAME: Final = "name"
CONNECTOR_CLASS: Final = "connector.class"
PLUGIN_VERSION: Final = "plugin.version"
CONNECTOR_VERSION: Final = f"connector.{PLUGIN_VERSION}"
TASKS_MAX: Final = "tasks.max"
TASKS_MAX_ENFORCE: Final = "tasks.max.enforce"
TRANSFORMS: Final = "transforms"
PREDICATES: Final = "predicates"
KEY_CONVERTER: Final = "key.converter"
VALUE_CONVERTER: Final = "value.converter"
HEADER_CONVERTER: Final = "header.converter"
ERRORS_RETRY_TIMEOUT: Final = "errors.retry.timeout"
ERRORS_RETRY_DELAY_MAX: Final = "errors.retry.delay.max.ms"
ERRORS_TOLERANCE: Final = "errors.tolerance"
ERRORS_LOG_ENABLE: Final = "errors.log.enable"
ERRORS_LOG_MESSAGES: Final = "errors.log.include.messages"
FRAME_JOB_TIMEOUT: Final = "frame.job.timeout.ms"
TASK_ISOLATION: Final = "spark.task.isolation"
TASKS_PER_PROCESS: Final = "tasks.per.process"
STALLED_TIMEOUT: Final = "task.stalled.timeout.ms"
LABELS: Final = "headrace.labels"
"""A connector's labels, separated by commas; for `headrace apply`, without a meaning to workers."""
ISOLATIONS: Final = ("none", "connector")
DLQ_TOPIC: Final = "errors.deadletterqueue.topic.name"
DLQ_REPLICATION_FACTOR: Final = "errors.deadletterqueue.topic.replication.factor"
DLQ_CONTEXT_HEADERS: Final = "errors.deadletterqueue.context.headers.enable"

_VERSION_DOC: Final = "For compatibility with Kafka Connect: a worker has one version of each plugin."
_COMMON: Final = "Common"
_ERRORS: Final = "Error Handling"


def _check_aliases(name: str, value: list[str]) -> None:
    shown = f"[{', '.join(value)}]"
    if not all(alias.strip() for alias in value):
        raise ConfigError.invalid(name, shown, "Empty alias provided.")
    if len(set(value)) < len(value):
        raise ConfigError.invalid(name, shown, "Duplicate alias provided.")


ALIASES: Final = CompositeValidator(NonNull(), LambdaValidator(_check_aliases, lambda: "unique aliases"))


def _connector_def() -> ConfigDef:
    """Return the definition; groups, order, widths and display names are Java's, as forms are made of them."""
    definition = ConfigDef()
    for define in (_define_connector, _define_plugins, _define_running, _define_errors):
        define(definition)
    return definition


def _define_connector(definition: ConfigDef) -> None:
    high, medium, low = Importance.HIGH, Importance.MEDIUM, Importance.LOW
    (
        definition
        .define(NAME, Type.STRING, importance=high, validator=NonEmptyStringWithoutControlChars(),
                doc="The connector's name, unique in the cluster.",
                group=_COMMON, order_in_group=1, width=Width.MEDIUM, display_name="Connector name")
        .define(CONNECTOR_CLASS, Type.STRING, importance=high, validator=NonEmptyString(),
                doc="The connector's class: an alias, an entry point's name or module:Class.",
                group=_COMMON, order_in_group=2, width=Width.LONG, display_name="Connector class")
        .define(CONNECTOR_VERSION, Type.STRING, None, importance=medium, doc=_VERSION_DOC,
                group=_COMMON, order_in_group=3, width=Width.MEDIUM, display_name="Connector version")
        .define(TASKS_MAX, Type.INT, 1, importance=high, validator=Range.at_least(1),
                doc="The most tasks that the connector may have.",
                group=_COMMON, order_in_group=4, width=Width.SHORT, display_name="Tasks max")
        .define(TASKS_MAX_ENFORCE, Type.BOOLEAN, True, importance=low,
                doc="Whether a connector fails if it returns more task configurations than tasks.max.",
                group=_COMMON, order_in_group=5, width=Width.SHORT, display_name="Enforce tasks max")
    )  # fmt: skip


def _define_plugins(definition: ConfigDef) -> None:
    low = Importance.LOW
    (
        definition
        .define(KEY_CONVERTER, Type.STRING, None, importance=low, validator=NonEmptyString(),
                doc="Converter of record keys; by default the worker's.",
                group=_COMMON, order_in_group=6, width=Width.SHORT, display_name="Key converter class")
        .define(f"{KEY_CONVERTER}.{PLUGIN_VERSION}", Type.STRING, None, importance=low, doc=_VERSION_DOC,
                group=_COMMON, order_in_group=7, width=Width.SHORT, display_name="Key converter version")
        .define(VALUE_CONVERTER, Type.STRING, None, importance=low, validator=NonEmptyString(),
                doc="Converter of record values; by default the worker's.",
                group=_COMMON, order_in_group=8, width=Width.SHORT, display_name="Value converter class")
        .define(f"{VALUE_CONVERTER}.{PLUGIN_VERSION}", Type.STRING, None, importance=low, doc=_VERSION_DOC,
                group=_COMMON, order_in_group=9, width=Width.SHORT, display_name="Value converter version")
        .define(HEADER_CONVERTER, Type.STRING, None, importance=low, validator=NonEmptyString(),
                doc="Converter of headers; by default the worker's.",
                group=_COMMON, order_in_group=10, width=Width.SHORT, display_name="Header converter class")
        .define(f"{HEADER_CONVERTER}.{PLUGIN_VERSION}", Type.STRING, None, importance=low, doc=_VERSION_DOC,
                group=_COMMON, order_in_group=11, width=Width.SHORT, display_name="Header converter version")
        .define(TRANSFORMS, Type.LIST, "", importance=low, validator=ALIASES,
                doc="Aliases of the transformations that are applied to records, in order.",
                group="Transforms", order_in_group=12, width=Width.LONG, display_name="Transforms")
        .define(PREDICATES, Type.LIST, "", importance=low, validator=ALIASES,
                doc="Aliases of the predicates that transformations may name.",
                group="Predicates", order_in_group=13, width=Width.LONG, display_name="Predicates")
    )  # fmt: skip


def _define_running(definition: ConfigDef) -> None:
    low = Importance.LOW
    (
        definition
        .define("config.action.reload", Type.STRING, "restart", importance=low,
                validator=ValidString("none", "restart"),
                doc="Action when the value of a reference to a config provider changes.",
                group=_COMMON, order_in_group=14, width=Width.MEDIUM, display_name="Reload Action")
        .define(FRAME_JOB_TIMEOUT, Type.LONG, None, importance=low, validator=Nullable(Range.at_least(1)),
                doc="The time in ms after which a frame job is cancelled and retried; by default the worker's value.",
                group=_COMMON, order_in_group=15, width=Width.MEDIUM, display_name="Frame Job Timeout")
        .define(TASK_ISOLATION, Type.STRING, None, importance=low, validator=Nullable(ValidString(*ISOLATIONS)),
                doc="connector: the connector's tasks run in a Spark application with its own JVM; none: in the "
                    "worker's. By default the worker's value.",
                group=_COMMON, order_in_group=16, width=Width.SHORT, display_name="Task Isolation")
        .define(STALLED_TIMEOUT, Type.LONG, None, importance=low, validator=Nullable(Range.at_least(1)),
                doc="The time in ms without progress after which the health of a task that has something to do is "
                    "stalled; by default the worker's value.",
                group=_COMMON, order_in_group=17, width=Width.MEDIUM, display_name="Stalled Timeout")
    )  # fmt: skip
    define_connector_restarts(definition, _COMMON, 18)
    define_connector_java_options(definition, _COMMON, 20)
    definition.define(TASKS_PER_PROCESS, Type.INT, None, importance=low, validator=Nullable(Range.at_least(1)),
                      doc="The most tasks, of this and of other connectors with the same value, that run in one "
                          "process; by default the worker's value. Those in Java have a process each.",
                      group=_COMMON, order_in_group=21, width=Width.SHORT,
                      display_name="Tasks per Process")  # fmt: skip


def _define_errors(definition: ConfigDef) -> None:
    medium = Importance.MEDIUM
    (
        definition
        .define(ERRORS_RETRY_TIMEOUT, Type.LONG, 0, importance=medium, validator=Nullable(Range.at_least(-1)),
                doc="The time in ms for which an operation is retried after a retriable error; -1 is without limit.",
                group=_ERRORS, order_in_group=1, width=Width.MEDIUM, display_name="Retry Timeout for Errors")
        .define(ERRORS_RETRY_DELAY_MAX, Type.LONG, 60000, importance=medium, validator=Nullable(Range.at_least(0)),
                doc="The longest wait between two retries, in ms.",
                group=_ERRORS, order_in_group=2, width=Width.MEDIUM,
                display_name="Maximum Delay Between Retries for Errors")
        .define(ERRORS_TOLERANCE, Type.STRING, "none", importance=medium,
                validator=ValidString("none", "all"),
                doc="all: records that cannot be transformed or converted are skipped; none: they fail the task.",
                group=_ERRORS, order_in_group=3, width=Width.SHORT, display_name="Error Tolerance")
        .define(ERRORS_LOG_ENABLE, Type.BOOLEAN, False, importance=medium, doc="Log tolerated errors too.",
                group=_ERRORS, order_in_group=4, width=Width.SHORT, display_name="Log Errors")
        .define(ERRORS_LOG_MESSAGES, Type.BOOLEAN, False, importance=medium,
                doc="Log the record that failed too: a source's with its contents.",
                group=_ERRORS, order_in_group=5, width=Width.SHORT, display_name="Log Error Details")
    )  # fmt: skip


def with_dead_letter_queue(definition: ConfigDef) -> ConfigDef:
    """Add the properties of a dead letter topic. Java has them for sinks only."""
    medium = Importance.MEDIUM
    return (
        definition
        .define(DLQ_TOPIC, Type.STRING, "", importance=medium, 
                validator=LambdaValidator(_check_topic, lambda: "a topic's name, or none"),
                doc="Topic for records that cannot be transformed or converted; none if empty.",
                group=_ERRORS, order_in_group=6, width=Width.MEDIUM, display_name="Dead Letter Queue Topic Name")
        .define(DLQ_REPLICATION_FACTOR, Type.SHORT, 3, importance=medium,
                validator=Nullable(LambdaValidator(_check_factor, lambda: "-1 or [1,...]")),
                doc="Replication factor of that topic, if the connector has to create it; -1 is the broker's default.",
                group=_ERRORS, order_in_group=7, width=Width.MEDIUM,
                display_name="Dead Letter Queue Topic Replication Factor")
        .define(DLQ_CONTEXT_HEADERS, Type.BOOLEAN, False, importance=medium,
                doc="Whether records in the dead letter topic get headers __connect.errors.* that describe the "
                    "error, its stage and the record.",
                group=_ERRORS, order_in_group=8, width=Width.MEDIUM, display_name="Enable Error Context Headers")
    )  # fmt: skip


def _check_topic(name: str, value: str | None) -> None:
    if value:
        TopicName().ensure_valid(name, value)


def _check_factor(name: str, value: int) -> None:
    if value != -1 and value < 1:
        raise ConfigError.invalid(name, value, "Value must be at least 1, or -1 for the broker's default")


@dataclass(frozen=True, slots=True)
class ErrorHandling:
    """The ``errors.*`` properties of a connector, in seconds; a ``retry_timeout`` of None means no limit."""

    tolerates: bool = False
    retry_timeout: float | None = 0.0
    retry_max_delay: float = 60.0
    log: bool = False
    log_messages: bool = False


@dataclass(frozen=True, slots=True)
class DeadLetterQueue:
    """A connector's dead letter topic. A ``replication_factor`` of -1 is the broker's default."""

    topic: str
    replication_factor: int
    context_headers: bool


@dataclass(frozen=True, slots=True)
class PluginStage:
    """A transformation or predicate of a connector; ``config`` are the properties under its alias."""

    alias: str
    type: str
    config: Mapping[str, str]
    predicate: str | None = None
    negate: bool = False


class ConnectorConfig(BaseConfig):
    """The configuration of a connector; the connector's own properties are in ``raw``. Java: ``ConnectorConfig``."""

    DEFINITION: ConfigDef = _connector_def()

    def __init__(self, props: Mapping[str, str | None]) -> None:
        super().__init__(self.DEFINITION, props)
        self.predicates: tuple[PluginStage, ...] = tuple(self._stage(PREDICATES, a) for a in self.get(PREDICATES))
        self.transforms: tuple[PluginStage, ...] = tuple(self._transform(a) for a in self.get(TRANSFORMS))

    @property
    def name(self) -> str:
        return str(self.get(NAME))

    @property
    def connector_class(self) -> str:
        return str(self.get(CONNECTOR_CLASS))

    @property
    def tasks_max(self) -> int:
        return int(self.get(TASKS_MAX))

    @property
    def tasks_max_enforced(self) -> bool:
        return bool(self.get(TASKS_MAX_ENFORCE))

    @property
    def tolerates_errors(self) -> bool:
        return str(self.get(ERRORS_TOLERANCE)) == "all"

    @property
    def error_handling(self) -> ErrorHandling:
        return ErrorHandling(
            self.tolerates_errors,
            None if self.get(ERRORS_RETRY_TIMEOUT) == -1 else self.seconds(ERRORS_RETRY_TIMEOUT),
            self.seconds(ERRORS_RETRY_DELAY_MAX),
            bool(self.get(ERRORS_LOG_ENABLE)),
            bool(self.get(ERRORS_LOG_MESSAGES)),
        )

    @property
    def dead_letter_queue(self) -> DeadLetterQueue | None:
        """The dead letter topic; None without one, or without its properties (see ``with_dead_letter_queue``)."""
        if DLQ_TOPIC not in self.DEFINITION.config_keys or not self.get(DLQ_TOPIC):
            return None
        return DeadLetterQueue(
            str(self.get(DLQ_TOPIC)), int(self.get(DLQ_REPLICATION_FACTOR)), bool(self.get(DLQ_CONTEXT_HEADERS))
        )

    def converter(self, property: str, worker: BaseConfig) -> tuple[str, dict[str, str]]:
        """Return class and settings of a converter (``KEY_CONVERTER``, ...): the connector's, else the worker's."""
        owner: BaseConfig = self if self.get(property) is not None else worker
        return str(owner.get(property)), owner.with_prefix(f"{property}.")

    def _stage(self, list_property: str, alias: str) -> PluginStage:
        config = self.with_prefix(f"{list_property}.{alias}.")
        type_property = f"{list_property}.{alias}.type"
        if not config.get("type", "").strip():
            message = f'Missing required configuration "{type_property}" which has no default value.'
            raise ConfigError(message, type_property)
        config.pop(PLUGIN_VERSION, None)
        return PluginStage(alias, config.pop("type").strip(), config)

    def _transform(self, alias: str) -> PluginStage:
        stage = self._stage(TRANSFORMS, alias)
        config = dict(stage.config)
        prefix = f"{TRANSFORMS}.{alias}."
        if "negate" in config and "predicate" not in config:
            message = (
                f"Config '{prefix}negate' was provided but there is no config '{prefix}predicate' "
                "defining a predicate to be negated."
            )
            raise ConfigError(message, f"{prefix}negate")
        predicate = config.pop("predicate", "").strip() or None
        negate = _parse_negate(f"{prefix}negate", config.pop("negate", None))
        known = [known.alias for known in self.predicates]
        if predicate is not None and predicate not in known:
            reason = f"no such predicate; {PREDICATES} has {', '.join(known) or 'none'}"
            raise ConfigError.invalid(f"{prefix}predicate", predicate, reason)
        return PluginStage(alias, stage.type, config, predicate, negate)


def _parse_negate(name: str, value: str | None) -> bool:
    return value is not None and bool(parse_type(name, value, Type.BOOLEAN))
