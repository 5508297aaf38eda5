# SPDX-License-Identifier: Apache-2.0
"""The runtime's properties of a connector together with those of the plugins that its configuration names.

Java: ``ConnectorConfig.enrich`` and ``AbstractHerder.validateConverterConfig``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from headrace.api.config_def import ConfigDef, ConfigKey, Importance, Type, Width, parse_type
from headrace.api.errors import ConfigError
from headrace.api.validators import CompositeValidator, LambdaValidator
from headrace.config.base_config import BaseConfig
from headrace.config.connector_config import (
    HEADER_CONVERTER,
    KEY_CONVERTER,
    PLUGIN_VERSION,
    PREDICATES,
    TRANSFORMS,
    VALUE_CONVERTER,
)
from headrace.herder.named_plugins import NamedPlugins, SingleValue
from headrace.model.cluster_config_state import Config
from headrace.plugins.builtin import PluginKind

CONVERTERS: Final = {
    HEADER_CONVERTER: PluginKind.HEADER_CONVERTER,
    KEY_CONVERTER: PluginKind.CONVERTER,
    VALUE_CONVERTER: PluginKind.CONVERTER,
}
_PREDICATE: Final = "predicate"
_NEGATE: Final = "negate"


@dataclass(frozen=True, slots=True)
class _Stage:
    """A transformation or predicate by its alias, which ``listed_in`` has."""

    listed_in: str
    kind: PluginKind
    alias: str

    @property
    def prefix(self) -> str:
        return f"{self.listed_in}.{self.alias}."

    @property
    def type_property(self) -> str:
        return f"{self.prefix}type"


def runtime_definition(base: ConfigDef, worker: BaseConfig, config: Config, named: NamedPlugins) -> ConfigDef:
    """Return ``base`` with classes for the converters' names, and with the properties of all stages."""
    definition = ConfigDef()
    for key in base.config_keys.values():
        definition.define_key(_class_key(key, worker, named) if key.name in CONVERTERS else key)
    for stage in _stages(config):
        _define_stage(definition, stage, config, named)
    return definition


def converter_definition(config: Config, named: NamedPlugins) -> ConfigDef:
    """Return the properties of the converters that the connector names for itself."""
    definition = ConfigDef()
    for property, kind in CONVERTERS.items():
        own = named.definition(kind, property)
        if own is not None:
            definition = ConfigDef(definition, own.prefixed(f"{property}."))
    return definition


def with_converter_types(config: Config) -> dict[str, str | None]:
    """Add the converters' types, which the runtime sets and no user does."""
    return {**{f"{property}.converter.type": property.partition(".")[0] for property in CONVERTERS}, **config}


def aliases(config: Config, property: str) -> list[str]:
    """Return the aliases in a list, each once, valid or not."""
    listed = parse_type(property, config.get(property), Type.LIST) or ()
    return [alias for alias in dict.fromkeys(listed) if alias]


def _class_key(key: ConfigKey, worker: BaseConfig, named: NamedPlugins) -> ConfigKey:
    """Return the key with the worker's converter as default, which a connector gets that names none."""
    kind = CONVERTERS[key.name]
    default = named.worker_class(kind, key.name, worker.get(key.name))
    return replace(
        key, type=Type.CLASS, default=default, validator=named.usable(), recommender=named.known(kind)
    )  # fmt: skip


def _stages(config: Config) -> Iterator[_Stage]:
    for property, kind in ((TRANSFORMS, PluginKind.TRANSFORMATION), (PREDICATES, PluginKind.PREDICATE)):
        yield from (_Stage(property, kind, alias) for alias in aliases(config, property))


def _define_stage(definition: ConfigDef, stage: _Stage, config: Config, named: NamedPlugins) -> None:
    group = f"{stage.listed_in.capitalize()}: {stage.alias}"
    own = named.definition(stage.kind, stage.type_property)
    definition.define(
        stage.type_property,
        Type.CLASS,
        importance=Importance.HIGH,
        doc=f"Class for the '{stage.alias}' {stage.kind.noun}.",
        validator=CompositeValidator(named.usable(), _negates_something(stage, config)),
        group=group,
        order_in_group=0,
        width=Width.LONG,
        display_name=f"{stage.kind.noun.capitalize()} type for {stage.alias}",
        recommender=named.known(stage.kind),
    )
    _define_version(definition, stage, group, named)
    if own is None:
        return
    child = _implicit(stage, config)
    for key in own.config_keys.values():
        if key.name not in ("type", PLUGIN_VERSION) and key.name not in child.config_keys:
            child.define_key(key)
    definition.embed(stage.prefix, group, 2, child)


def _define_version(definition: ConfigDef, stage: _Stage, group: str, named: NamedPlugins) -> None:
    version = named.versions.get(stage.type_property)
    definition.define(
        stage.prefix + PLUGIN_VERSION,
        Type.STRING,
        version,
        importance=Importance.HIGH,
        doc=f"Version of the '{stage.alias}' {stage.kind.noun}; the one that is installed is used.",
        group=group,
        order_in_group=1,
        width=Width.LONG,
        display_name=f"{stage.kind.noun.capitalize()} version for {stage.alias}",
        recommender=None if version is None else SingleValue(version),
    )


def _implicit(stage: _Stage, config: Config) -> ConfigDef:
    """Return the properties of every transformation; they mask properties of the same names in one's own definition."""
    if stage.listed_in == PREDICATES:
        return ConfigDef()
    known = aliases(config, PREDICATES)

    def check(name: str, value: str | None) -> None:
        if value and value not in known:
            reason = f"no such predicate; {PREDICATES} has {', '.join(known) or 'none'}"
            raise ConfigError.invalid(name, value, reason)

    return (
        ConfigDef()
        .define(_PREDICATE, Type.STRING, None, validator=LambdaValidator(check, lambda: "an alias of a predicate"),
                doc="Alias of the predicate that a record must match for this transformation to be applied.")
        .define(_NEGATE, Type.BOOLEAN, False,
                doc="Whether the transformation is applied to records that do not match the predicate instead.")
    )  # fmt: skip


def _negates_something(stage: _Stage, config: Config) -> LambdaValidator:
    negate, predicate = f"{stage.prefix}{_NEGATE}", f"{stage.prefix}{_PREDICATE}"

    def check(name: str, value: Any) -> None:
        if stage.listed_in == TRANSFORMS and negate in config and predicate not in config:
            raise ConfigError(
                f"Config '{negate}' was provided but there is no config '{predicate}' defining a predicate to be "
                "negated.",
                negate,
            )

    return LambdaValidator(check, lambda: f"valid configs for {stage.alias} {stage.kind.noun}")
