# SPDX-License-Identifier: Apache-2.0
"""JSON schemas, made of parts or derived from the model's dataclasses, as ``entities`` makes the answers of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from headrace.herder.config_infos import ConfigKeyInfo, ConfigValueInfo
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import ConnectorState, TaskState, WorkerInfo
from headrace.model.state import State
from headrace.model.verdict import Verdict
from headrace.rest.entities import is_optional, json_name

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
NUMBER: Final[Schema] = {"type": "integer"}
OBJECT: Final[Schema] = {"type": "object"}
_OF_TYPES: Final[Mapping[Any, Schema]] = {str: TEXT, int: NUMBER, bool: {"type": "boolean"}, float: {"type": "number"}}
FRACTION: Final[Schema] = {"type": "number"}
AGE: Final[Schema] = {"type": ["integer", "null"], "description": "An age in milliseconds; null if not known."}
VERDICT: Final[Schema] = {"enum": [verdict.name.lower() for verdict in Verdict]}
TYPE: Final[Schema] = {"enum": ["source", "sink", "unknown"]}
STATE: Final[Schema] = {"enum": [state.value for state in State if state is not State.DESTROYED]}


def ref(name: str) -> Schema:
    """Return a reference to the schema of that name in ``api_schemas.SCHEMAS``."""
    return {"$ref": f"#/components/schemas/{name}"}


def body_doc(name: str) -> dict[str, Any]:
    """Describe a request body by the schema of that name, for FastAPI's ``openapi_extra``."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": ref(name)}}}}


def array(items: Schema) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    """Return the schema of an object with any names."""
    return {"type": "object", "additionalProperties": values}


def exactly(**fields: Schema) -> Schema:
    """Return the schema of an object with these fields and no other; those whose names end in ``_`` are optional."""
    properties = {name.rstrip("_"): schema for name, schema in fields.items()}
    required = [name for name in fields if not name.endswith("_")]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value or null."""
    if schema.keys() == {"type"}:
        return {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def derived(kind: Any, **special: Schema) -> Schema:
    """Return the schema of a dataclass or named tuple; `special` replaces, or adds, schemas of fields as `exactly`."""
    hints = get_type_hints(kind)
    if not is_dataclass(kind):
        return exactly(**{name: _of_type(hint) for name, hint in hints.items()})
    described = dict(_described(field, hints[field.name]) for field in fields(kind))
    return exactly(**{**described, **special})


def _described(field: Field[Any], hint: Any) -> tuple[str, Schema]:
    """Return a field's name, as `exactly` takes it, and schema: an optional field is never null."""
    if not is_optional(field):
        return json_name(field), _of_type(hint)
    (present,) = set(get_args(hint)) - {NoneType}
    return f"{json_name(field)}_", _of_type(present)


def _of_type(hint: Any) -> Schema:
    """Return the schema of values of a type as the dataclasses have them."""
    if hint in _NAMES:
        return ref(_NAMES[hint])
    if hint in _OF_TYPES:
        return _OF_TYPES[hint]
    if is_dataclass(hint):
        return derived(hint)
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return array(_of_type(arguments[0]))
    if get_origin(hint) is Mapping:
        return OBJECT if arguments[1] is Any else mapping(_of_type(arguments[1]))
    (present,) = set(arguments) - {NoneType}
    return nullable(_of_type(present))


_NAMES: Final[Mapping[Any, str]] = {
    ConnectorTaskId: "TaskId",
    ConnectorState: "ConnectorState",
    TaskState: "TaskState",
    WorkerInfo: "Worker",
    ConfigKeyInfo: "ConfigKey",
    ConfigValueInfo: "ConfigValue",
}
"""The names in ``api_schemas.SCHEMAS`` of classes that others have as fields; others are described in place."""
