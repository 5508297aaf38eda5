# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of the REST API's bodies and answers.

Those of answers are derived from the model's dataclasses, by the rules by which ``entities`` makes the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo, ConfigValueInfo
from headrace.logs.loggers import LoggerLevel
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorState,
    ConnectorStateInfo,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
)
from headrace.model.offsets import OffsetDifference
from headrace.model.state import State
from headrace.rest.entities import is_optional, json_name

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
_NUMBER: Final[Schema] = {"type": "integer"}
_OBJECT: Final[Schema] = {"type": "object"}
_OF_TYPES: Final[Mapping[Any, Schema]] = {str: _TEXT, int: _NUMBER, bool: {"type": "boolean"}}
_TYPE: Final[Schema] = {"enum": ["source", "sink", "unknown"]}
_STATE: Final[Schema] = {"enum": [state.value for state in State if state is not State.DESTROYED]}


def ref(name: str) -> Schema:
    """Return a reference to the schema of that name in ``SCHEMAS``."""
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
        return _OBJECT if arguments[1] is Any else mapping(_of_type(arguments[1]))
    (present,) = set(arguments) - {NoneType}
    return nullable(_of_type(present))


_NAMES: Final[Mapping[Any, str]] = {
    ConnectorTaskId: "TaskId",
    ConnectorState: "ConnectorState",
    TaskState: "TaskState",
    ConfigKeyInfo: "ConfigKey",
    ConfigValueInfo: "ConfigValue",
}
"""The names in ``SCHEMAS`` of classes that others have as fields; those without a name are described in place."""

_SPARK: Final = {
    **nullable(derived(SparkAttempt)),
    "description": "With expand=spark: what Spark runs of the task. Null of a task that has no process on the worker "
    "that answers; worker_id tells which other one to ask.",
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Error": exactly(error_code=_NUMBER, message=_TEXT),
    "Message": exactly(message=_TEXT),
    "ServerInfo": derived(ServerInfo),
    "Config": {
        **mapping({"type": ["string", "number", "boolean", "null"]}),
        "description": "The connector's properties. Numbers and booleans are taken as they are written.",
    },
    "WorkerStatus": exactly(status={"enum": ["healthy", "starting", "unhealthy"]}, message=_TEXT),
    "LevelChange": {
        **mapping({}),
        "properties": {"level": {"enum": ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"]}},
        "required": ["level"],
    },
    "LoggerLevel": derived(LoggerLevel),
    "StoredConfig": mapping(_TEXT_OR_NULL),
    "CreateConnector": {
        **exactly(
            name={**_TEXT, "description": "If the configuration has a name too, the same."},
            config=ref("Config"),
            initial_state_={"enum": ["RUNNING", "PAUSED", "STOPPED", None]},
        ),
        "examples": [
            {
                "name": "lines",
                "config": {"connector.class": "FileStreamSource", "file": "/var/log/lines.txt", "topic": "lines"},
            }
        ],
    },
    "TaskId": derived(ConnectorTaskId),
    "Connector": derived(ConnectorInfo, type=_TYPE),
    "Task": derived(TaskInfo),
    "ConnectorState": derived(ConnectorState, state=_STATE),
    "TaskState": derived(TaskState, state=_STATE, spark_=_SPARK),
    "ConnectorStatus": derived(ConnectorStateInfo, type=_TYPE),
    "Connectors": {
        "anyOf": [
            array(_TEXT),
            mapping(exactly(info_=ref("Connector"), status_=ref("ConnectorStatus"))),
        ]
    },
    "Topics": mapping(exactly(topics=array(_TEXT))),
    "Offset": exactly(partition=_OBJECT, offset_=nullable(_OBJECT)),
    "Offsets": exactly(offsets=array(ref("Offset"))),
    "NewOffsets": {
        **exactly(offsets={**array(ref("Offset")), "minItems": 1}),
        "examples": [{"offsets": [{"partition": {"filename": "/var/log/lines.txt"}, "offset": {"position": 0}}]}],
    },
    "OffsetDifference": derived(OffsetDifference),
    "OffsetsChanged": {
        "anyOf": [
            ref("Message"),
            exactly(message=_TEXT, changes=array(ref("OffsetDifference"))),
        ]
    },
    "Plugin": derived(PluginInfo),
    "ConfigKey": derived(ConfigKeyInfo),
    "ConfigValue": derived(ConfigValueInfo),
    "ConfigInfos": derived(ConfigInfos),
}
