# SPDX-License-Identifier: Apache-2.0
"""Texts of YAML, JSON and properties as trees, in which each value is a text as written, with its line. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.config.properties_file import parse_lines

if TYPE_CHECKING:
    import yaml

_NULL: Final = "tag:yaml.org,2002:null"
_BOOLEANS: Final = {True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document. Numbers and booleans are texts as written; ``line`` is from 1 on, None if unknown."""

    value: str | Mapping[str, Node] | Sequence[Node] | None
    line: int | None = None


class DocumentError(ValueError):
    """The text cannot be parsed."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def parse(text: str, suffix: str) -> list[Node]:
    """Return the documents of a text by its file's suffix. Raise DocumentError, of one line."""
    try:
        if suffix == ".properties":
            return [_of_properties(text)]
        return [_of_json(text)] if suffix == ".json" else list(_of_yaml(text))
    except RecursionError as error:
        raise DocumentError("it is nested too deeply") from error


def _of_properties(text: str) -> Node:
    found: dict[str, Node] = {}
    try:
        for key, value, line in parse_lines(text):
            if key in found:
                raise DocumentError(f"property {key} is in line {found[key].line} already", line)
            found[key] = Node(value, line)
    except DocumentError:
        raise
    except ValueError as error:
        raise DocumentError(str(error)) from error
    return Node(found, found["name"].line if "name" in found else 1)


def _of_json(text: str) -> Node:
    try:
        # Numbers stay as written: 1.50 is not 1.5.
        value = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise DocumentError(f"it is not JSON: {error.msg}", error.lineno) from error
    lines = None
    with suppress(DocumentError):  # JSON is YAML, but not all of it: a text with tabs has no lines
        lines = next(_of_yaml(text), None)
    return _with_lines(value, lines)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DocumentError(f"{key} is there twice in one object")
        found[key] = value
    return found


def _with_lines(value: Any, lines: Node | None) -> Node:
    line, parts = (None, None) if lines is None else (lines.line, lines.value)
    if isinstance(value, dict):
        known = parts if isinstance(parts, Mapping) else {}
        return Node({key: _with_lines(each, known.get(key)) for key, each in value.items()}, line)
    if isinstance(value, list):
        items = list(parts) if isinstance(parts, list) and len(parts) == len(value) else [None] * len(value)
        return Node([_with_lines(each, of) for each, of in zip(value, items, strict=True)], line)
    return Node(_BOOLEANS[value] if isinstance(value, bool) else value, line)


def _of_yaml(text: str) -> Iterator[Node]:
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        while loader.check_node():
            document = loader.get_node()
            if document is not None:
                yield _YamlNodes(loader).node(document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise DocumentError(f"it is not YAML: {error.problem}", None if mark is None else mark.line + 1) from error
    except yaml.YAMLError as error:
        raise DocumentError(f"it is not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


class _YamlNodes:
    """The nodes of one document. Anchors and merge keys (``<<``) are resolved; each node is converted once."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._done: dict[int, Node] = {}

    def node(self, node: yaml.Node) -> Node:
        if id(node) not in self._done:
            self._done[id(node)] = Node(self._value(node), node.start_mark.line + 1)
        return self._done[id(node)]

    def _value(self, node: yaml.Node) -> str | Mapping[str, Node] | Sequence[Node] | None:
        import yaml

        if isinstance(node, yaml.MappingNode):
            _refuse_repeated(node)
            self._loader.flatten_mapping(node)
            return {_key(key): Node(self.node(each).value, key.start_mark.line + 1) for key, each in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.node(each) for each in node.value]
        return None if node.tag == _NULL else str(node.value)


def _refuse_repeated(node: yaml.MappingNode) -> None:
    seen: dict[str, int] = {}
    for key, _ in node.value:
        name, line = _key(key), key.start_mark.line + 1
        if name in seen:
            raise DocumentError(f"{name} is in line {seen[name]} already", line)
        seen[name] = line


def _key(key: yaml.Node) -> str:
    if not isinstance(key.value, str):
        raise DocumentError("a key has to be a text", key.start_mark.line + 1)
    return key.value
