# SPDX-License-Identifier: Apache-2.0
"""What the runtime understands of any connector's configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type, parse_type
from headrace.api.errors import ConfigError
from headrace.api.validators import (
    CaseInsensitiveValidString,
    CompositeValidator,
    LambdaValidator,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    Range,
    ValidList,
)
from headrace.config.base_config import BaseConfig

NAME: Final = "name"
CONNECTOR_CLASS: Final = "connector.class"
TASKS_MAX: Final = "tasks.max"
TASKS_MAX_ENFORCE: Final = "tasks.max.enforce"
TRANSFORMS: Final = "transforms"
PREDICATES: Final = "predicates"
KEY_CONVERTER: Final = "key.converter"
VALUE_CONVERTER: Final = "value.converter"
HEADER_CONVERTER: Final = "header.converter"

_ALIAS: Final = re.compile(r"[^.\s]+")


def _check_aliases(name: str, value: list[str]) -> None:
    for alias in value:
        if not _ALIAS.fullmatch(alias):
            raise ConfigError.invalid(name, alias, "an alias has neither dots nor blanks")


ALIASES: Final = CompositeValidator(
    ValidList(), LambdaValidator(_check_aliases, lambda: "names without dots, each once")
)


def _connector_def() -> ConfigDef:
    high, medium, low = Importance.HIGH, Importance.MEDIUM, Importance.LOW
    return (
        ConfigDef()
        .define(NAME, Type.STRING, importance=high, validator=NonEmptyStringWithoutControlChars(),
                doc="The connector's name, unique in the cluster.")
        .define(CONNECTOR_CLASS, Type.STRING, importance=high, validator=NonEmptyString(),
                doc="The connector's class: an alias, an entry point's name or module:Class.")
        .define(TASKS_MAX, Type.INT, 1, importance=high, validator=Range.at_least(1),
                doc="The most tasks that the connector may have.")
        .define(TASKS_MAX_ENFORCE, Type.BOOLEAN, True, importance=low,
                doc="Whether a connector that makes more tasks than tasks.max fails.")
        .define(KEY_CONVERTER, Type.STRING, None, importance=low, validator=NonEmptyString(),
                doc="Converter of record keys in place of the worker's.")
        .define(VALUE_CONVERTER, Type.STRING, None, importance=low, validator=NonEmptyString(),
                doc="Converter of record values in place of the worker's.")
        .define(HEADER_CONVERTER, Type.STRING, None, importance=low, validator=NonEmptyString(),
                doc="Converter of headers in place of the worker's.")
        .define(TRANSFORMS, Type.LIST, "", importance=low, validator=ALIASES,
                doc="Aliases of the transformations that records go through, in order.")
        .define(PREDICATES, Type.LIST, "", importance=low, validator=ALIASES,
                doc="Aliases of the predicates that transformations may name.")
        .define("config.action.reload", Type.STRING, "restart", importance=low,
                validator=CaseInsensitiveValidString("none", "restart"),
                doc="What to do when a value from outside, behind a reference, changes.")
        .define("errors.retry.timeout", Type.LONG, 0, importance=medium, validator=Range.at_least(-1),
                doc="How many ms an operation that fails is tried again; -1 is for ever.")
        .define("errors.retry.delay.max.ms", Type.LONG, 60000, importance=medium, validator=Range.at_least(0),
                doc="The longest wait between two tries.")
        .define("errors.tolerance", Type.STRING, "none", importance=medium,
                validator=CaseInsensitiveValidString("none", "all"),
                doc="all: records that cannot be processed are skipped; none: they fail the task.")
        .define("errors.log.enable", Type.BOOLEAN, False, importance=medium, doc="Log every tolerated error too.")
        .define("errors.log.include.messages", Type.BOOLEAN, False, importance=medium,
                doc="Log the record that an error is about.")
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PluginStage:
    """A transformation or predicate of a connector: ``config`` is what is under its alias."""

    alias: str
    type: str
    config: Mapping[str, str]
    predicate: str | None = None
    negate: bool = False


class ConnectorConfig(BaseConfig):
    """Java: ``ConnectorConfig``. Properties of the connector's own are in ``raw``."""

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
        return str(self.get("errors.tolerance")).lower() == "all"

    def converter(self, property: str, worker: BaseConfig) -> tuple[str, dict[str, str]]:
        """Class and settings of a converter (``KEY_CONVERTER``, ...): the connector's own, or all of the worker's."""
        owner: BaseConfig = self if self.get(property) is not None else worker
        return str(owner.get(property)), owner.with_prefix(f"{property}.")

    def _stage(self, list_property: str, alias: str) -> PluginStage:
        config = self.with_prefix(f"{list_property}.{alias}.")
        type_property = f"{list_property}.{alias}.type"
        if not config.get("type", "").strip():
            message = f'Missing required configuration "{type_property}" which has no default value.'
            raise ConfigError(message, type_property)
        return PluginStage(alias, config.pop("type").strip(), config)

    def _transform(self, alias: str) -> PluginStage:
        stage = self._stage(TRANSFORMS, alias)
        config = dict(stage.config)
        predicate = config.pop("predicate", "").strip() or None
        negate = _parse_negate(f"{TRANSFORMS}.{alias}.negate", config.pop("negate", None))
        known = [known.alias for known in self.predicates]
        if predicate is not None and predicate not in known:
            reason = f"no such predicate; {PREDICATES} has {', '.join(known) or 'none'}"
            raise ConfigError.invalid(f"{TRANSFORMS}.{alias}.predicate", predicate, reason)
        return PluginStage(alias, stage.type, config, predicate, negate)


def _parse_negate(name: str, value: str | None) -> bool:
    return value is not None and bool(parse_type(name, value, Type.BOOLEAN))
