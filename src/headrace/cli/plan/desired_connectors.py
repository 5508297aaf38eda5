# SPDX-License-Identifier: Apache-2.0
"""The connectors that documents describe, in all their forms, with the values of variables. Pure.

``$(NAME)`` is the environment's NAME, and ``$$(NAME)`` the text ``$(NAME)``. References to config providers, such as
``${env:NAME}``, have other brackets: the worker resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from headrace.cli.ctl.statuses import Goal
from headrace.cli.plan.connector_documents import Node
from headrace.cli.plan.findings import Finding
from headrace.config.connector_config import CONNECTOR_CLASS, NAME
from headrace.config.secret_properties import is_secret_name

_CONFIG: Final = "config"
STATE: Final = "state"
INITIAL_STATE: Final = "initial_state"
_AROUND_CONFIG: Final = (NAME, _CONFIG, STATE, INITIAL_STATE, "tasks", "type")
"""``tasks`` and ``type`` are in the answer of ``GET /connectors/{name}``; they mean nothing here."""
_STATES: Final = {goal.value: goal for goal in (Goal.RUNNING, Goal.PAUSED, Goal.STOPPED)}

Fields = Mapping[str, Node]
_NAME: Final = r"\(([A-Za-z_][A-Za-z0-9_]*)\)"
_VARIABLE: Final = re.compile(rf"\$(\$?){_NAME}")
_PLAIN: Final = re.compile(rf"\${_NAME}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Desired:
    """A connector as a file describes it, with the values of variables.

    ``state`` is kept by each apply, ``initial_state`` is for its creation only; None is as it is, or RUNNING for a new
    one. ``lines`` has the lines of properties, ``unset`` the variables of properties that have no value.
    """

    name: str
    config: Mapping[str, str | None]
    file: str
    line: int | None = None
    state: Goal | None = None
    initial_state: Goal | None = None
    lines: Mapping[str, int | None] = field(default_factory=dict)
    variables: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The variables that a property's value has, by property."""
    unset: Mapping[str, frozenset[str]] = field(default_factory=dict)
    secret_values: frozenset[str] = frozenset()
    """The values of variables with a secret's name: they are shown nowhere."""

    @property
    def plugin(self) -> str:
        return (self.config.get(CONNECTOR_CLASS) or "").strip()

    def finding(self, message: str, key: str | None = None) -> Finding:
        """Return an error about this connector, or a property of it."""
        line = self.lines.get(key, self.line) if key else self.line
        return Finding(message, self.file, line, self.name, key or None)


class _MistakeError(ValueError):
    """One connector of a document cannot be understood."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


def desired_connectors(
    document: Node, file: str, variables: Mapping[str, str], one: bool = False
) -> Iterator[Desired | Finding]:
    """Yield the connectors of a document: one, a list of them, or a map from names; only one if ``one``.

    For each that cannot be understood, yield the error instead.
    """
    for read in _connectors(document, one):
        try:
            yield read(_Reader(file, variables))
        except _MistakeError as error:
            yield Finding(str(error), file, error.line)


def without_unset(found: Sequence[Desired]) -> Iterator[Finding]:
    """Yield an error for each property that has a variable without a value."""
    for desired in found:
        for property, names in desired.unset.items():
            for name in sorted(names):
                yield desired.finding(f"the environment variable {name} is not set", property)


def repeated(found: Sequence[Desired]) -> Iterator[Finding]:
    """Yield an error for each connector whose name another one has, of this or another file."""
    first: dict[str, Desired] = {}
    for desired in found:
        other = first.setdefault(desired.name, desired)
        if other is not desired:
            where = other.file if other.line is None else f"{other.file}:{other.line}"
            yield desired.finding(f"connector {desired.name} is in {where} already")


_Read = Callable[["_Reader"], Desired]


def _connectors(document: Node, one: bool) -> Iterator[_Read]:
    value = document.value
    if isinstance(value, Mapping):
        if one or NAME in value or CONNECTOR_CLASS in value or _CONFIG in value or not _is_map(value):
            yield lambda reader: reader.connector(document)
        else:
            for name, each in value.items():
                yield lambda reader, name=name, each=each: reader.connector(each, name)  # type: ignore[misc]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield lambda reader, each=each: reader.connector(each)  # type: ignore[misc]
    elif value is not None:  # an empty document has no connector
        yield lambda reader: reader.connector(document)


def _is_map(fields: Fields) -> bool:
    return all(isinstance(each.value, Mapping) for each in fields.values())


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one connector of a file."""

    file: str
    variables: Mapping[str, str]

    def connector(self, node: Node, name: str | None = None) -> Desired:
        fields = node.value
        if not isinstance(fields, Mapping):
            raise _MistakeError("a connector has to be a map of its properties", node.line)
        inner = fields.get(_CONFIG)
        if inner is None or isinstance(inner.value, str):
            return self._of_config(node, fields, name)
        if not isinstance(inner.value, Mapping):
            raise _MistakeError("config has to be a map of properties", inner.line)
        unknown = next((key for key in fields if key not in _AROUND_CONFIG), None)
        if unknown is not None:
            expected = ", ".join(_AROUND_CONFIG[:4])
            raise _MistakeError(f"there is no '{unknown}' beside config: {expected} can be there", fields[unknown].line)
        desired = self._of_config(node, inner.value, self._name(fields.get(NAME)) or name, named_outside=True)
        return replace(desired, state=_state(fields, STATE), initial_state=_state(fields, INITIAL_STATE))

    def _of_config(self, node: Node, fields: Fields, name: str | None, named_outside: bool = False) -> Desired:
        own = self._name(fields.get(NAME))
        if name is not None and own is not None and own != name:
            raise _MistakeError(f"its property name is '{own}', but its name is '{name}'", fields[NAME].line)
        found = name or own
        if not found:
            raise _MistakeError(
                "it lacks name beside config" if named_outside else "it lacks the property name", node.line
            )
        texts = {key: _text(key, each) for key, each in fields.items()}
        resolved = {key: resolve(text, self.variables) for key, text in texts.items() if text is not None}
        used = {variable for each in resolved.values() for variable in each.used}
        config = {key: resolved[key].text if key in resolved else None for key in texts}
        return Desired(
            name=found,
            config={**config, NAME: found},
            file=self.file,
            line=node.line,
            lines={key: each.line for key, each in fields.items()},
            variables={key: each.used for key, each in resolved.items() if each.used},
            unset={key: each.missing for key, each in resolved.items() if each.missing},
            secret_values=frozenset(self.variables[each] for each in used if is_secret_name(each)),
        )

    def _name(self, node: Node | None) -> str | None:
        """Return a connector's name, as a file gives it; None if it gives none."""
        text = None if node is None else _text(NAME, node)
        return None if text is None else resolve(text, self.variables).text.strip()


def _text(key: str, node: Node) -> str | None:
    if node.value is None or isinstance(node.value, str):
        return node.value
    raise _MistakeError(f"the value of property '{key}' has to be a text, not a map or list", node.line)


def _state(fields: Fields, key: str) -> Goal | None:
    node = fields.get(key)
    if node is None or node.value is None:
        return None
    state = _STATES.get(node.value.upper()) if isinstance(node.value, str) else None
    if state is None:
        raise _MistakeError(f"Invalid value '{node.value}' for {key}: one of {', '.join(_STATES)} expected", node.line)
    return state


@dataclass(frozen=True, slots=True)
class Resolved:
    """A text with the values of its variables, those ``used`` by name, and those that are ``missing``."""

    text: str
    used: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()


def resolve(text: str, variables: Mapping[str, str]) -> Resolved:
    """Put values in the place of variables. Values are not searched again; missing ones stay as they are written."""
    names = {match[2] for match in _VARIABLE.finditer(text) if not match[1]}

    def value(match: re.Match[str]) -> str:
        return f"$({match[2]})" if match[1] else variables.get(match[2], match[0])

    return Resolved(
        _VARIABLE.sub(value, text), frozenset(names & variables.keys()), frozenset(names - variables.keys())
    )


def escape(text: str) -> str:
    """Return the text for a file: ``resolve`` gives it back."""
    return _PLAIN.sub(lambda match: f"${match[0]}", text)


def variable_name(*parts: str) -> str:
    """Return the name of a variable for a property: ORDERS_DATABASE_PASSWORD."""
    name = _NOT_IN_NAMES.sub("_", "_".join(parts).upper()).strip("_")
    return f"_{name}" if name[:1].isdigit() or not name else name
