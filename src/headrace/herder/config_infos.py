# SPDX-License-Identifier: Apache-2.0
"""The outcome of a validation, property by property. Field names are Kafka Connect's JSON names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.api.config_def import HIDDEN, ConfigKey, ConfigValue, Password, Type, value_to_string
from headrace.config.secret_properties import is_reference


@dataclass(frozen=True, slots=True)
class ConfigKeyInfo:
    """The definition of a property. Java: ``ConfigKeyInfo``."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: tuple[str, ...]

    @classmethod
    def of(cls, key: ConfigKey) -> ConfigKeyInfo:
        return cls(
            name=key.name,
            type=key.type.value,
            required=not key.has_default,
            default_value=_text(key.default, key.type) if key.has_default else None,
            importance=key.importance.value,
            documentation=key.doc,
            group=key.group,
            order_in_group=key.order_in_group,
            width=key.width.value,
            display_name=key.display_name,
            dependents=key.dependents,
        )


@dataclass(frozen=True, slots=True)
class ConfigValueInfo:
    """The value of a property, its errors, and its recommended values. Java: ``ConfigValueInfo``."""

    name: str
    value: str | None
    recommended_values: tuple[str | None, ...]
    errors: tuple[str, ...]
    visible: bool

    @classmethod
    def of(cls, value: ConfigValue, type: Type | None) -> ConfigValueInfo:
        """Convert a value; ``type`` is None for a property without a definition."""
        entry_type = Type.STRING if type is Type.LIST else type
        return cls(
            name=value.name,
            value=_text(value.value, type),
            recommended_values=tuple(_text(each, entry_type) for each in value.recommended_values),
            errors=tuple(value.error_messages),
            visible=value.visible,
        )


@dataclass(frozen=True, slots=True)
class ConfigInfo:
    """One property: without a definition if nothing defines it, without a value if nothing validated it."""

    definition: ConfigKeyInfo | None
    value: ConfigValueInfo | None


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """The answer of ``PUT /connector-plugins/{class}/config/validate``; ``name`` is the connector's class as given."""

    name: str
    error_count: int
    groups: tuple[str, ...]
    configs: tuple[ConfigInfo, ...]
    warnings: tuple[str, ...] | None = None
    """A line for each property that has no effect; None if there is none. Kafka Connect has no such key."""

    @classmethod
    def of(cls, name: str, groups: tuple[str, ...], configs: tuple[ConfigInfo, ...]) -> ConfigInfos:
        return cls(name, sum(1 for _ in _messages(configs)), groups, configs)

    @property
    def errors(self) -> tuple[str, ...]:
        """All messages, in the order of the properties."""
        return tuple(_messages(self.configs))


def _messages(configs: tuple[ConfigInfo, ...]) -> Iterator[str]:
    for config in configs:
        if config.value is not None:
            yield from config.value.errors


def _text(value: object, type: Type | None) -> str | None:
    if value is None:
        return None
    if type is Type.PASSWORD:
        given = value.value if isinstance(value, Password) else str(value)
        return given if is_reference(given) else HIDDEN
    # A value that does not parse as the property's type, or must not be shown, is a text already.
    return value if isinstance(value, str) else value_to_string(value, type)
