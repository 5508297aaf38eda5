# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of the REST API's bodies and answers; ``entities`` makes the answers."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
_NUMBER: Final[Schema] = {"type": "integer"}
_NUMBER_OR_NULL: Final[Schema] = {"type": ["integer", "null"]}
_FLAG: Final[Schema] = {"type": "boolean"}
_TYPE: Final[Schema] = {"enum": ["source", "sink", "unknown"]}
_STATE: Final[Schema] = {"enum": ["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"]}


def ref(name: str) -> Schema:
    """Return a reference to the schema of that name in ``SCHEMAS``."""
    return {"$ref": f"#/components/schemas/{name}"}


def body_doc(name: str) -> dict[str, Any]:
    """Describe a request body by the schema of that name, for FastAPI's ``openapi_extra``."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": ref(name)}}}}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def exactly(**fields: Schema) -> Schema:
    """Return the schema of an object with these fields and no other; those whose names end in ``_`` are optional."""
    properties = {name.rstrip("_"): schema for name, schema in fields.items()}
    required = [name for name in fields if not name.endswith("_")]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_CONFIG: Final = mapping(_TEXT_OR_NULL)
_RUN: Final = {"state": _STATE, "worker_id": _TEXT_OR_NULL, "trace_": _TEXT, "version_": _TEXT}

_SPARK: Final = {
    "anyOf": [
        exactly(
            app_id=_TEXT_OR_NULL,
            job_id=_NUMBER_OR_NULL,
            executor=_TEXT_OR_NULL,
            attempt=_NUMBER,
            host=_TEXT_OR_NULL,
            pid=_NUMBER,
        ),
        {"type": "null"},
    ],
    "description": "With expand=spark: what Spark runs of the task. Null of a task that has no process on the worker "
    "that answers; worker_id tells which other one to ask.",
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Error": exactly(error_code=_NUMBER, message=_TEXT),
    "Message": exactly(message=_TEXT),
    "ServerInfo": exactly(version=_TEXT, commit=_TEXT, kafka_cluster_id=_TEXT_OR_NULL, headrace_version=_TEXT),
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
    "LoggerLevel": exactly(level=_TEXT, last_modified={"type": ["integer", "null"]}),
    "StoredConfig": _CONFIG,
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
    "TaskId": exactly(connector=_TEXT, task=_NUMBER),
    "Connector": exactly(name=_TEXT, config=_CONFIG, tasks=array(ref("TaskId")), type=_TYPE),
    "Task": exactly(id=ref("TaskId"), config=_CONFIG),
    "ConnectorState": exactly(**_RUN),
    "TaskState": exactly(id=_NUMBER, **_RUN, spark_=_SPARK),
    "ConnectorStatus": exactly(name=_TEXT, connector=ref("ConnectorState"), tasks=array(ref("TaskState")), type=_TYPE),
    "Connectors": {
        "anyOf": [
            array(_TEXT),
            mapping(exactly(info_=ref("Connector"), status_=ref("ConnectorStatus"))),
        ]
    },
    "Topics": mapping(exactly(topics=array(_TEXT))),
    "Offset": exactly(partition={"type": "object"}, offset_={"type": ["object", "null"]}),
    "Offsets": exactly(offsets=array(ref("Offset"))),
    "NewOffsets": {
        **exactly(offsets={**array(ref("Offset")), "minItems": 1}),
        "examples": [{"offsets": [{"partition": {"filename": "/var/log/lines.txt"}, "offset": {"position": 0}}]}],
    },
    "OffsetDifference": exactly(
        partition={"type": "object"}, before={"type": ["object", "null"]}, after={"type": ["object", "null"]}
    ),
    "OffsetsChanged": {
        "anyOf": [
            ref("Message"),
            exactly(message=_TEXT, changes=array(ref("OffsetDifference"))),
        ]
    },
    "Plugin": exactly(**{"class": _TEXT, "type": _TEXT, "version_": _TEXT, "error_": _TEXT}),
    "ConfigKey": exactly(
        name=_TEXT,
        type=_TEXT,
        required=_FLAG,
        default_value=_TEXT_OR_NULL,
        importance=_TEXT,
        documentation=_TEXT,
        group=_TEXT_OR_NULL,
        order_in_group=_NUMBER,
        width=_TEXT,
        display_name=_TEXT,
        dependents=array(_TEXT),
    ),
    "ConfigValue": exactly(
        name=_TEXT,
        value=_TEXT_OR_NULL,
        recommended_values=array(_TEXT_OR_NULL),
        errors=array(_TEXT),
        visible=_FLAG,
    ),
    "ConfigInfos": exactly(
        name=_TEXT,
        error_count=_NUMBER,
        groups=array(_TEXT),
        configs=array(
            exactly(
                definition={"anyOf": [ref("ConfigKey"), {"type": "null"}]},
                value={"anyOf": [ref("ConfigValue"), {"type": "null"}]},
            )
        ),
    ),
}
