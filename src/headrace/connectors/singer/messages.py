# SPDX-License-Identifier: Apache-2.0
"""Messages of Singer: one line of JSON each. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from headrace.api.errors import DataError

_SHOWN: Final = 200
_VERSIONS: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class SchemaMessage:
    """SCHEMA: the JSON schema of the records of a stream that follow, and the names of their key properties."""

    stream: str
    schema: Mapping[str, Any]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordMessage:
    """RECORD: a record of a stream; ``extracted`` is the text of its time of extraction.

    ``version`` is that of a full table, which an ACTIVATE_VERSION makes the stream's only one.
    """

    stream: str
    record: Mapping[str, Any]
    extracted: str | None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class StateMessage:
    """STATE: where to continue after all records before it, as JSON text."""

    text: str


@dataclass(frozen=True, slots=True)
class ActivateVersionMessage:
    """ACTIVATE_VERSION: the records of a stream with another version, or with none, are void."""

    stream: str
    version: int


Message: TypeAlias = SchemaMessage | RecordMessage | StateMessage | ActivateVersionMessage


def parse_message(line: bytes) -> Message | None:
    """Return the message of a line; None if it is blank. Numbers with fractions are decimals.

    Raise DataError for a line that is no message, or one of another type.
    """
    if not line.strip():
        return None
    try:
        # Not orjson, which rounds numbers that do not fit into 64 bits.
        message = json.loads(line, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise DataError(f"a line is no JSON ({error}): {shortened(line)}") from error
    kind = message.get("type") if isinstance(message, dict) else None
    match kind:
        case "RECORD":
            record = _member(message, "record", dict, line)
            version = _version(message, line) if message.get("version") is not None else None
            stream = _member(message, "stream", str, line)
            return RecordMessage(stream, record, message.get("time_extracted"), version)
        case "STATE":
            return StateMessage(json_text(_member(message, "value", dict, line)))
        case "SCHEMA":
            keys = message.get("key_properties") or ()
            if not isinstance(keys, (list, tuple)) or not all(isinstance(key, str) for key in keys):
                raise DataError(f"key_properties of a SCHEMA is no list of names: {shortened(line)}")
            schema = _member(message, "schema", dict, line)
            return SchemaMessage(_member(message, "stream", str, line), schema, tuple(keys))
        case "ACTIVATE_VERSION":
            return ActivateVersionMessage(_member(message, "stream", str, line), _version(message, line))
    raise DataError(f"a line is no message of Singer that is known (SCHEMA, RECORD, STATE): {shortened(line)}")


def _member(message: Mapping[str, Any], name: str, kind: type, line: bytes) -> Any:
    value = message.get(name)
    if not isinstance(value, kind):
        wanted = "an object" if kind is dict else "a text"
        raise DataError(f"'{name}' of a {message['type']} message is not {wanted}: {shortened(line)}")
    return value


def _version(message: Mapping[str, Any], line: bytes) -> int:
    version = message.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or not -_VERSIONS <= version < _VERSIONS:
        raise DataError(f"'version' of a {message['type']} message is no number of 64 bits: {shortened(line)}")
    return version


def shortened(line: bytes) -> str:
    """Return the beginning of a line, for error messages."""
    text = line[:_SHOWN].decode("utf-8", "replace")
    return text + ("…" if len(line) > _SHOWN else "")


def json_text(value: Any) -> str:
    """Return the JSON text of a parsed value, with decimals as they are."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            return "{" + ", ".join(f"{json.dumps(name)}: {json_text(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(json_text, value)) + "]"
    return json.dumps(value)


def parse_state(text: str) -> dict[str, Any]:
    """Return the value of a STATE from its text. Raise DataError if it is no JSON object."""
    try:
        state = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"it is no JSON ({error}): {shortened(text.encode())}") from error
    if not isinstance(state, dict):
        raise DataError(f"it is no JSON object: {shortened(text.encode())}")
    return state
