# SPDX-License-Identifier: Apache-2.0
"""Properties that are right by themselves and wrong together: refused by a task, told by `validate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.errors import ConfigError

Contradictions = Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]]
"""Of the values of all properties those that do not go together: the name of one of them, and why."""


def checked(definition: ConfigDef, props: Mapping[str, str], contradictions: Contradictions) -> dict[str, Any]:
    """The values of the properties. ConfigError for what is missing or wrong."""
    values = definition.parse(props)
    for name, reason in contradictions(values):
        raise ConfigError.invalid(name, values.get(name, props.get(name)), reason)
    return values


def told(values: list[ConfigValue], contradictions: Contradictions) -> list[ConfigValue]:
    """Adds what is wrong with properties in their combination to what is wrong with each."""
    by_name = {value.name: value for value in values}
    for name, reason in contradictions({name: value.value for name, value in by_name.items()}):
        value = by_name.setdefault(name, ConfigValue(name))
        value.add_error_message(str(ConfigError.invalid(name, value.value, reason)))
    return list(by_name.values())
