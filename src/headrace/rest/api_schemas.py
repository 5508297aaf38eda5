# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of all bodies and answers of the REST API; here are those of workers, connectors, plugins and topics."""

from __future__ import annotations

from typing import Final

from headrace.api.record import TimestampType
from headrace.herder.config_infos import ConfigInfos, ConfigKeyInfo, ConfigValueInfo
from headrace.inspection.topics.topic_records import Direction
from headrace.logs.loggers import LoggerLevel
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import (
    Changes,
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
    WorkerInfo,
    WorkersInfo,
)
from headrace.rest.dead_letter_schemas import DEAD_LETTER_SCHEMAS
from headrace.rest.health_schemas import HEALTH_SCHEMAS
from headrace.rest.preview_schemas import PREVIEW_SCHEMAS
from headrace.rest.schema_parts import (
    NUMBER,
    OBJECT,
    STATE,
    TEXT,
    TEXT_OR_NULL,
    TYPE,
    Schema,
    array,
    derived,
    exactly,
    mapping,
    nullable,
    ref,
)

TOPIC_SCHEMAS: Final[dict[str, Schema]] = {
    "Topics": mapping(exactly(topics=array(TEXT))),
    "TopicStatistics": exactly(
        topics=array(
            exactly(
                topic=TEXT,
                direction={"enum": [direction.value for direction in Direction]},
                partitions=nullable(NUMBER),
                records=nullable({**NUMBER, "description": "End offsets less first offsets, of all partitions."}),
                bytes=nullable(
                    {**NUMBER, "description": "On the disk of one broker; null if brokers do not report it."}
                ),
                error_={**TEXT, "description": "Why there are no numbers."},
            )
        )
    ),
    "Records": exactly(
        topic=TEXT,
        records=array(ref("Record")),
        positions={**TEXT, "description": "The next request's parameter from, to continue."},
        at_end={"type": "boolean", "description": "Whether these were all committed records."},
    ),
    "Record": exactly(
        topic=TEXT,
        partition=nullable(NUMBER),
        offset=nullable(NUMBER),
        timestamp=nullable({**NUMBER, "description": "Milliseconds since the epoch."}),
        timestampType={"enum": [kind.value for kind in TimestampType]},
        key=ref("RecordPart"),
        value=ref("RecordPart"),
        headers=array(exactly(key=TEXT, value=ref("RecordPart"))),
    ),
    "RecordPart": exactly(
        bytes={"type": ["string", "null"], "description": "In base64; null for a null."},
        schema={**nullable(OBJECT), "description": "As JsonConverter writes it; null for schemaless data."},
        value={"description": "Any JSON, for people to read."},
        error_={**TEXT, "description": "Why the converter could not decode the bytes."},
        truncated_={"const": True, "description": "Bytes or value are too large, and shortened."},
    ),
}
OFFSET_SCHEMAS: Final[dict[str, Schema]] = {
    "Offset": exactly(partition=OBJECT, offset_=nullable(OBJECT)),
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
            exactly(message=TEXT, changes=array(ref("OffsetDifference"))),
        ]
    },
}
_SPARK: Final = {
    **nullable(derived(SparkAttempt)),
    "description": "With expand=spark: what Spark runs of the task. Null of a task that has no process on the worker "
    "that answers; worker_id names the other one to ask.",
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Error": exactly(error_code=NUMBER, message=TEXT),
    "Message": exactly(message=TEXT),
    "ServerInfo": derived(ServerInfo),
    "Config": {
        **mapping({"type": ["string", "number", "boolean", "null"]}),
        "description": "The connector's properties. Numbers and booleans are taken as they are written.",
    },
    "Workers": derived(WorkersInfo),
    "Worker": derived(WorkerInfo),
    "Changes": derived(Changes),
    "WorkerStatus": exactly(status={"enum": ["healthy", "starting", "unhealthy"]}, message=TEXT),
    "LevelChange": {
        **mapping({}),
        "properties": {"level": {"enum": ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"]}},
        "required": ["level"],
    },
    "LoggerLevel": derived(LoggerLevel),
    "StoredConfig": mapping(TEXT_OR_NULL),
    "CreateConnector": {
        **exactly(
            name={**TEXT, "description": "If the configuration has a name too, the same."},
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
    "Connector": derived(ConnectorInfo, type=TYPE),
    "Task": derived(TaskInfo),
    "ConnectorState": derived(ConnectorState, state=STATE),
    "TaskState": derived(TaskState, state=STATE, spark_=_SPARK),
    "ConnectorStatus": derived(ConnectorStateInfo, type=TYPE),
    "Connectors": {
        "anyOf": [
            array(TEXT),
            mapping(exactly(info_=ref("Connector"), status_=ref("ConnectorStatus"), health_=ref("ConnectorHealth"))),
        ]
    },
    "StateEvent": exactly(
        id=TEXT,
        event={"enum": ["reset", "change"]},
        data={
            **TEXT,
            "contentMediaType": "application/json",
            "contentSchema": mapping(nullable(exactly(status=ref("ConnectorStatus"), health_=ref("ConnectorHealth")))),
        },
    ),
    "LogLines": exactly(
        lines=array(
            exactly(
                time={**NUMBER, "description": "Milliseconds since the epoch."},
                level=TEXT,
                logger=TEXT,
                worker=TEXT,
                part={"type": ["string", "null"], "description": "worker for the connector, or as task-0."},
                message=TEXT,
                trace=TEXT_OR_NULL,
            )
        ),
        positions={**TEXT, "description": "The next request's parameter after, to continue."},
        gaps={**array(TEXT), "description": "Workers that do not have all lines since the positions any more."},
        missing={**mapping(TEXT), "description": "Workers that have not answered, with the reason."},
    ),
    "Plugin": derived(PluginInfo),
    "ConfigKey": derived(ConfigKeyInfo),
    "ConfigValue": derived(ConfigValueInfo),
    "ConfigInfos": derived(ConfigInfos),
    **HEALTH_SCHEMAS,
    **TOPIC_SCHEMAS,
    **OFFSET_SCHEMAS,
    **PREVIEW_SCHEMAS,
    **DEAD_LETTER_SCHEMAS,
}
