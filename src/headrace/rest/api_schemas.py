# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of all bodies and answers of the REST API; here are those of workers, connectors and plugins."""

from __future__ import annotations

from typing import Final

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
from headrace.rest.dead_letter_schemas import DEAD_LETTER_SCHEMAS
from headrace.rest.health_schemas import HEALTH_SCHEMAS
from headrace.rest.offset_schemas import OFFSET_SCHEMAS
from headrace.rest.preview_schemas import PREVIEW_SCHEMAS
from headrace.rest.schema_parts import (
    NUMBER,
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
from headrace.rest.topic_schemas import TOPIC_SCHEMAS

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
