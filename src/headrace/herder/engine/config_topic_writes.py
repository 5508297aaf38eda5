# SPDX-License-Identifier: Apache-2.0
"""The leader's writes of the config topic: from the herder's request to the store's write."""

from __future__ import annotations

import time

from headrace.herder.core.config_writes import (
    PutAutomaticRestart,
    PutConnector,
    PutLoggerLevel,
    PutOffsetsDeleted,
    PutRestart,
    PutSessionKey,
    PutTargetState,
    PutTaskConfigs,
    PutTaskCount,
    PutTaskRestart,
    RemoveConnector,
    WriteRequest,
)
from headrace.model.ids import ConnectorTaskId
from headrace.storage import config_writes as writes


def config_write(request: WriteRequest) -> writes.ConfigWrite:
    """Return the write of the config topic that ``request`` asks for."""
    match request:
        case PutConnector(name=name, config=config, target_state=target):
            return writes.ConnectorWrite(name, config, target)
        case RemoveConnector(name=name, with_offsets=with_offsets):
            return writes.ConnectorRemoval(name, with_offsets)
        case PutTargetState(name=name, state=state):
            return writes.TargetStateWrite(name, state)
        case PutRestart(name=name, only_failed=only_failed, include_tasks=include_tasks):
            return writes.RestartWrite(name, only_failed, include_tasks)
        case PutTaskRestart(name=name, task=task):
            return writes.TaskRestartWrite(ConnectorTaskId(name, task))
        case PutAutomaticRestart(id=ConnectorTaskId() as id, count=count):
            return writes.TaskRestartWrite(id, count)
        case PutAutomaticRestart(name=name, count=count):
            return writes.RestartWrite(name, only_failed=True, include_tasks=False, count=count)
        case PutOffsetsDeleted(name=name):
            return writes.OffsetsDeletedWrite(name)
        case PutTaskConfigs(name=name, configs=configs):
            return writes.TaskConfigsWrite(name, configs)
        case PutTaskCount(name=name, tasks=tasks):
            return writes.TaskCountWrite(name, tasks)
        case PutSessionKey(rules=rules):
            return writes.SessionKeyWrite(rules.new_key(now_ms()))
        case PutLoggerLevel(logger=logger, level=level):
            return writes.LoggerLevelWrite(logger, level)


def describe_request(write: WriteRequest) -> str:
    """Return the name of the stage in which the request is carried out, for log messages."""
    if isinstance(write, PutSessionKey):
        return "write of a session key"
    if isinstance(write, PutLoggerLevel):
        return f"write of the level of logger {write.logger}"
    kinds = {
        PutConnector: "write of the config",
        RemoveConnector: "removal",
        PutTargetState: "write of the target state",
        PutRestart: "write of a request to restart",
        PutTaskRestart: "write of a request to restart a task",
        PutAutomaticRestart: "write of an automatic restart",
        PutOffsetsDeleted: "write of the end of the offsets",
        PutTaskConfigs: "write of the task configs",
        PutTaskCount: "write of the task count record",
    }
    return f"{kinds[type(write)]} of connector {write.name}"


def now_ms() -> int:
    """Return the milliseconds since the epoch, which other workers can compare with theirs."""
    return int(time.time() * 1000)
