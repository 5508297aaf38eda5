# SPDX-License-Identifier: Apache-2.0
"""The collected findings of the steps of a validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.api.config_def import ConfigDef, ConfigKey, ConfigValue, Type
from headrace.api.error_text import error_text
from headrace.api.errors import ConfigError
from headrace.herder.config_infos import ConfigInfo, ConfigInfos, ConfigKeyInfo, ConfigValueInfo

Conceal = Callable[[Sequence[ConfigValue]], list[ConfigValue]]


class Findings:
    """The definitions and values of one validation. Of one thread; its steps add to it in turn."""

    def __init__(self) -> None:
        self._keys: dict[str, ConfigKey] = {}
        self._values: dict[str, ConfigValue] = {}
        self._groups: dict[str, None] = {}
        self.complete = True
        """False if the connector does not say which properties it reads."""

    def define(self, definition: ConfigDef) -> None:
        """Add properties; a later definition replaces an earlier one."""
        self._keys.update(definition.config_keys)
        self._groups.update(dict.fromkeys(definition.groups))

    def add(self, values: Iterable[ConfigValue]) -> None:
        """Add values; a later one replaces an earlier one of the same property, but all distinct messages are kept."""
        for value in values:
            before = self._values.get(value.name)
            messages = [] if before is None else before.error_messages
            value.error_messages = list(dict.fromkeys([*messages, *value.error_messages]))
            self._values[value.name] = value

    def add_message(self, name: str, message: str) -> None:
        """Add a message to a property, defined or not."""
        value = self._values.setdefault(name, ConfigValue(name))
        if message not in value.error_messages:
            value.add_error_message(message)

    def add_error(self, error: ConfigError) -> None:
        """Add an error as a message to each of the properties that it concerns."""
        for name in (error.name or "", *error.also):
            self.add_message(name, error_text(error))

    def is_valid(self, name: str | None = None) -> bool:
        """Return true if there is no message so far, for one property or at all."""
        if name is not None:
            return name not in self._values or not self._values[name].error_messages
        return not any(value.error_messages for value in self._values.values())

    def value(self, name: str) -> Any:
        """Return the parsed value of a property; None if it is not valid or not known."""
        return self._values[name].value if name in self._values and self.is_valid(name) else None

    def is_password(self, name: str) -> bool:
        """Return true if a definition says that the property's value must not be shown."""
        return name in self._keys and self._keys[name].type is Type.PASSWORD

    @property
    def names(self) -> frozenset[str]:
        """The properties that are defined."""
        return frozenset(self._keys)

    def infos(self, name: str, conceal: Conceal) -> ConfigInfos:
        """Return the result in Kafka Connect's order: first the undefined properties, then the defined ones."""
        values = {value.name: value for value in conceal(list(self._values.values()))}
        undefined = tuple(_info(None, value) for value in values.values() if value.name not in self._keys)
        defined = tuple(_info(key, values.get(key.name)) for key in self._keys.values())
        return ConfigInfos.of(name, tuple(self._groups), undefined + defined)


def _info(key: ConfigKey | None, value: ConfigValue | None) -> ConfigInfo:
    return ConfigInfo(
        None if key is None else ConfigKeyInfo.of(key),
        None if value is None else ConfigValueInfo.of(value, None if key is None else key.type),
    )
