# SPDX-License-Identifier: Apache-2.0
"""Fields in properties: paths, also to nested fields (KIP-821; Java: `transforms.field.SingleFieldPath`), and pairs.

Version 1 of the syntax: the text is the name of a top-level field, dots included. Version 2: dots separate the names of
nested fields; a name in backticks may contain dots (`` `a.b`.c ``). A backtick inside such a name needs a backslash
before it only if a dot follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance
from headrace.api.config_def import Type as ConfigType
from headrace.api.errors import ConfigError, DataError
from headrace.api.schema import Field, Schema
from headrace.api.validators import CaseInsensitiveValidString
from headrace.transforms._common import require_map

FIELD_SYNTAX_VERSION: Final = "field.syntax.version"
_V1: Final = "V1"
_V2: Final = "V2"
_PURPOSE: Final = "nested field access"


class FieldPath:
    """The path to one field, parsed once. `steps` are its names, outermost first."""

    __slots__ = ("_last", "_parents", "steps")

    def __init__(self, text: str, version: str = _V1) -> None:
        """Parse a path; raise ConfigError if a backtick is not closed. An empty path of version 2 finds nothing."""
        self.steps = tuple(_parse(text)) if version.upper() == _V2 else (text,)
        self._parents = self.steps[:-1]
        self._last = self.steps[-1] if self.steps else None

    def fields_in(self, schema: Schema) -> list[Field] | None:
        """Return the path's fields, outermost first; None if one is missing. DataError for a step into no struct."""
        self._last_step()
        fields = []
        for step in self.steps:
            field = schema.field(step)
            if field is None:
                return None
            fields.append(field)
            schema = field.schema
        return fields

    def value_in(self, value: Mapping[str, Any]) -> Any:
        """Return the value in a map of maps; None if the path ends early. Raise DataError if a step on it is no map."""
        for step in self._parents:
            inner = value.get(step)
            if inner is None:
                return None
            value = require_map(inner, _PURPOSE)
        return value.get(self._last_step())

    def _last_step(self) -> str:
        if self._last is None:
            raise DataError("An empty path leads to no field; name one")
        return self._last


def define_field_syntax_version(definition: ConfigDef) -> ConfigDef:
    """Add the property with the syntax version of a transformation's field paths."""
    return definition.define(
        FIELD_SYNTAX_VERSION,
        ConfigType.STRING,
        _V1,
        importance=Importance.HIGH,
        validator=CaseInsensitiveValidString(_V1, _V2),
        doc="How fields are named. V1: by the name of a top-level field. V2: by a path with dots between the names of"
        " nested fields; a name that has dots itself goes into backticks: `foo.bar`.baz.",
    )


def _parse(text: str) -> list[str]:
    steps = []
    position = 0
    while position < len(text):
        step, position = _quoted(text, position) if text[position] == "`" else _plain(text, position)
        steps.append(step)
    if text.endswith("."):
        steps.append("")
    return steps


def _plain(text: str, start: int) -> tuple[str, int]:
    """Return the step that begins here, up to the next dot, and the start of the next step."""
    end = text.find(".", start)
    return (text[start:], len(text)) if end < 0 else (text[start:end], end + 1)


def _quoted(text: str, opening: int) -> tuple[str, int]:
    """Return the step between this backtick and the closing one: the next with a dot or nothing after it."""
    name = ""
    start = position = opening + 1
    while (closing := text.find("`", position)) >= 0:
        escaped = text[closing - 1] == "\\"
        position = closing + 1
        if position == len(text):
            if escaped:
                break
            return name + text[start:closing], position
        if text[position] != ".":
            continue
        if not escaped:
            return name + text[start:closing], position + 1
        name += text[start : closing - 1] + "`"
        start = position
    raise ConfigError(
        f"The backtick at position {opening} of the path [{text}] is never closed;"
        " close it, or put a backslash before it"
    )


__all__ = ["FIELD_SYNTAX_VERSION", "FieldPath", "define_field_syntax_version"]


def split_pair(text: str) -> list[str]:
    """Return the parts of `a:b`, without empty ones at the end (Java: `String.split`); one part without a colon."""
    if ":" not in text:
        return [text]
    parts = text.split(":")
    while parts and not parts[-1]:
        parts.pop()
    return parts
