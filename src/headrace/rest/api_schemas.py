# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of the REST API's bodies and answers.

Those of answers are derived from the model's dataclasses, by the rules by which ``entities`` makes the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from headrace.api.lag import LagUnit
from headrace.api.record import TimestampType
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo, ConfigValueInfo
from headrace.inspection.topics.connector_topics import Direction
from headrace.logs.loggers import LoggerLevel
from headrace.model.auto_restart import NO_POLICY, ON_FAILURE
from headrace.model.health import Handling, Stage, TaskConfigsStage
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    ConnectorInfo,
    ConnectorState,
    ConnectorStateInfo,
    OffsetBounds,
    OffsetDifference,
    PartitionBounds,
    PluginInfo,
    ServerInfo,
    SparkAttempt,
    TaskInfo,
    TaskState,
)
from headrace.model.state import State
from headrace.model.verdict import Verdict
from headrace.rest.entities import is_optional, json_name

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
_NUMBER: Final[Schema] = {"type": "integer"}
_OBJECT: Final[Schema] = {"type": "object"}
_OF_TYPES: Final[Mapping[Any, Schema]] = {str: _TEXT, int: _NUMBER, bool: {"type": "boolean"}}
_FRACTION: Final[Schema] = {"type": "number"}
_AGE: Final[Schema] = {"type": ["integer", "null"], "description": "An age in milliseconds; null if not known."}
_VERDICT: Final[Schema] = {"enum": [verdict.name.lower() for verdict in Verdict]}
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
    "that answers; worker_id names the other one to ask.",
}

_PART: Final = exactly(
    bytes={**_TEXT_OR_NULL, "description": "In base64; null between two steps, where there are none, or for none."},
    schema={},
    value={},
    error_={**_TEXT, "description": "Why its converter cannot read the bytes."},
    truncated_={"type": "boolean", "description": "True if only the first part of the value is shown."},
)
_HEADERS: Final = array(exactly(key=_TEXT, value=ref("Part")))
_PREVIEW_ERROR: Final = nullable(
    exactly(
        stage=_TEXT,
        transform_=_TEXT_OR_NULL,
        **{"class_": _TEXT},
        error=_TEXT_OR_NULL,
        message=_TEXT,
        hint=_TEXT_OR_NULL,
        deadLetterTopic_=_TEXT,
        trace_=_TEXT,
    )
)
_RESULT: Final = [ref("RecordInKafka"), ref("RecordBetweenSteps")]

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
    "ConnectorHealth": exactly(
        name=_TEXT,
        type=_TYPE,
        verdict=_VERDICT,
        why=_TEXT,
        connector=exactly(
            state=_STATE,
            worker_id=_TEXT_OR_NULL,
            verdict=_VERDICT,
            why=_TEXT,
            auto_restart=ref("AutoRestart"),
            task_configs_error=nullable(ref("TaskConfigsError")),
        ),
        tasks=array(ref("TaskHealth")),
    ),
    "AutoRestart": exactly(
        policy={"enum": [NO_POLICY, ON_FAILURE]},
        attempts={**_NUMBER, "description": "Automatic restarts in a row."},
        max_attempts=_NUMBER,
        next_attempt_ms=nullable({**_NUMBER, "description": "Milliseconds since the epoch."}),
        gave_up={"type": "boolean"},
        reason=_TEXT_OR_NULL,
    ),
    "TaskHealth": exactly(
        auto_restart=ref("AutoRestart"),
        id=_NUMBER,
        state=_STATE,
        worker_id=_TEXT_OR_NULL,
        verdict=_VERDICT,
        why=_TEXT,
        stage={"enum": [*(stage.value for stage in Stage), None]},
        **dict.fromkeys(("stage_since", "last_poll", "last_record", "last_commit"), _AGE),
        records_per_second=nullable(_FRACTION),
        bytes_per_second=nullable(_FRACTION),
        last_error=nullable(ref("TaskError")),
        errors=nullable(
            exactly(**dict.fromkeys(("failures", "errors", "skipped", "retries", "dead_letters"), _NUMBER))
        ),
        next_attempt={**_AGE, "description": "Milliseconds from now until the next attempt at what failed."},
        restarts=nullable(exactly(count=_NUMBER, reason=_TEXT_OR_NULL)),
        lag=nullable(
            exactly(
                unit={"enum": [unit.value for unit in LagUnit], "description": "The key of the sum of all partitions."},
                **{f"{unit.value}_": _NUMBER for unit in LagUnit},
                partitions=mapping(_NUMBER),
            )
        ),
        transaction_open=_AGE,
        measured={**_AGE, "description": "The age of the process' newest report, in milliseconds."},
    ),
    "TaskConfigsError": exactly(
        **{"class": _TEXT},
        message=_TEXT,
        stage={"enum": [stage.value for stage in TaskConfigsStage]},
        age=_AGE,
        since={**_AGE, "description": "The age of the first failure in the row."},
        attempts=_NUMBER,
        next_attempt={**_NUMBER, "description": "Milliseconds until the next attempt; 0 while one is under way."},
    ),
    "TaskError": exactly(
        **{"class": _TEXT},
        message=_TEXT,
        stage={"enum": [stage.value for stage in Stage]},
        handling={"enum": [handling.value for handling in Handling]},
        record=nullable(_OBJECT),
        age=_AGE,
        time={"type": "string", "format": "date-time"},
        hint=_TEXT_OR_NULL,
    ),
    "Connectors": {
        "anyOf": [
            array(_TEXT),
            mapping(exactly(info_=ref("Connector"), status_=ref("ConnectorStatus"), health_=ref("ConnectorHealth"))),
        ]
    },
    "Topics": mapping(exactly(topics=array(_TEXT))),
    "TopicStatistics": exactly(
        topics=array(
            exactly(
                topic=_TEXT,
                direction={"enum": [direction.value for direction in Direction]},
                partitions=nullable(_NUMBER),
                records=nullable({**_NUMBER, "description": "End offsets less first offsets, of all partitions."}),
                bytes=nullable({**_NUMBER, "description": "On the disk of one broker; null if brokers do not tell."}),
                error_={**_TEXT, "description": "Why there are no numbers."},
            )
        )
    ),
    "Records": exactly(
        topic=_TEXT,
        records=array(ref("Record")),
        positions={**_TEXT, "description": "The next request's parameter from, to continue."},
        at_end={"type": "boolean", "description": "Whether these were all committed records."},
    ),
    "Record": exactly(
        topic=_TEXT,
        partition=nullable(_NUMBER),
        offset=nullable(_NUMBER),
        timestamp=nullable({**_NUMBER, "description": "Milliseconds since the epoch."}),
        timestampType={"enum": [kind.value for kind in TimestampType]},
        key=ref("RecordPart"),
        value=ref("RecordPart"),
        headers=array(exactly(key=_TEXT, value=ref("RecordPart"))),
    ),
    "RecordPart": exactly(
        bytes={"type": ["string", "null"], "description": "In base64; null for a null."},
        schema={**nullable(_OBJECT), "description": "As JsonConverter writes it; null for schemaless data."},
        value={"description": "Any JSON, for people to read."},
        error_={**_TEXT, "description": "Why the converter could not decode the bytes."},
        truncated_={"const": True, "description": "Bytes or value are too large, and shortened."},
    ),
    "LogLines": exactly(
        lines=array(
            exactly(
                time={**_NUMBER, "description": "Milliseconds since the epoch."},
                level=_TEXT,
                logger=_TEXT,
                worker=_TEXT,
                part={"type": ["string", "null"], "description": "worker for the connector, or as task-0."},
                message=_TEXT,
                trace=_TEXT_OR_NULL,
            )
        ),
        positions={**_TEXT, "description": "The next request's parameter after, to continue."},
        gaps={**array(_TEXT), "description": "Workers that do not have all lines since the positions any more."},
        missing={**mapping(_TEXT), "description": "Workers that have not answered, with the reason."},
    ),
    "Offset": exactly(partition=_OBJECT, offset_=nullable(_OBJECT)),
    "Offsets": exactly(offsets=array(ref("Offset")), bounds_=nullable(ref("OffsetBounds"))),
    "OffsetBounds": derived(OffsetBounds),
    "PartitionBounds": derived(PartitionBounds),
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
    "Part": _PART,
    "RecordBetweenSteps": exactly(
        topic=_TEXT,
        partition=nullable(_NUMBER),
        timestamp=nullable(_NUMBER),
        key=ref("Part"),
        value=ref("Part"),
        headers=_HEADERS,
    ),
    "RecordInKafka": exactly(
        topic=_TEXT,
        partition=nullable(_NUMBER),
        offset=nullable(_NUMBER),
        timestamp=nullable(_NUMBER),
        timestampType=_TEXT,
        key=ref("Part"),
        value=ref("Part"),
        headers=_HEADERS,
    ),
    "PreviewStep": exactly(
        transform=_TEXT,
        **{"class": _TEXT},
        outcome={"enum": ["changed", "unchanged", "dropped", "combined", "skipped", "failed", "not previewed"]},
        predicate_=exactly(predicate=_TEXT_OR_NULL, result={"type": ["boolean", "null"]}, negate={"type": "boolean"}),
        after_=ref("RecordBetweenSteps"),
        rows_={**array(ref("RecordBetweenSteps")), "description": "All records, if the step made several of it."},
        row_={**_NUMBER, "description": "Which of the several records a step before made, counted from 1."},
        message_=_TEXT,
    ),
    "PreviewedRecord": exactly(
        polled_=ref("RecordBetweenSteps"),
        consumed_=ref("RecordInKafka"),
        sourcePartition_=nullable(_OBJECT),
        sourceOffset_=nullable(_OBJECT),
        steps=array(ref("PreviewStep")),
        outcome={
            "enum": [
                "written",
                "put",
                "dropped",
                "combined",
                "skipped",
                "dead letter",
                "fails the task",
                "not previewed",
            ],
        },
        result={"anyOf": [*_RESULT, {"type": "null"}]},
        results_={**array({"anyOf": _RESULT}), "description": "All results, if there are several."},
        error_=_PREVIEW_ERROR,
    ),
    "Preview": exactly(
        connector=_TEXT,
        type=_TYPE,
        task=_NUMBER,
        tasks={"type": ["integer", "null"], "description": "How many tasks there are; null if that is not known."},
        records=array(ref("PreviewedRecord")),
        plans={
            **array(exactly(transform=_TEXT, **{"class": _TEXT}, plan=_TEXT)),
            "description": "The plans of the steps that run on Spark, as its `explain` formats them.",
        },
        dryRun={
            **nullable(exactly(rows=array({}), schema=_TEXT_OR_NULL)),
            "description": "What a sink would write, if its connector can tell.",
        },
        end={"enum": ["records", "end", "time", "error", "killed", "died"]},
        stage={**_TEXT, "description": "The last method that was called, or what else was done last."},
        error=_PREVIEW_ERROR,
        notes=array(_TEXT),
    ),
}
