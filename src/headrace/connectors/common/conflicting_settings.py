# SPDX-License-Identifier: Apache-2.0
"""Properties that are valid each but conflict with each other: a task refuses them, `validate` reports them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.errors import ConfigError

ConflictCheck = Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]]
"""Returns the conflicts among the values of all properties: the name of one of them, and the reason."""


def parse_checked(definition: ConfigDef, props: Mapping[str, str], find_conflicts: ConflictCheck) -> dict[str, Any]:
    """Return the values of the properties. Raise ConfigError for missing, invalid or conflicting ones."""
    values = definition.parse(props)
    for name, reason in find_conflicts(values):
        raise ConfigError.invalid(name, values.get(name, props.get(name)), reason)
    return values


def add_conflicts(values: list[ConfigValue], find_conflicts: ConflictCheck) -> list[ConfigValue]:
    """Add the errors of conflicting properties to those of single ones."""
    by_name = {value.name: value for value in values}
    for name, reason in find_conflicts({name: value.value for name, value in by_name.items()}):
        value = by_name.setdefault(name, ConfigValue(name))
        value.add_error_message(str(ConfigError.invalid(name, value.value, reason)))
    return list(by_name.values())
