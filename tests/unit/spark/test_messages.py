# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import pickle
from typing import get_args

import pytest

from headrace.api.frames import FrameJob
from headrace.model.health import Handling, Progress, Stage, TaskError
from headrace.model.ids import ConnectorTaskId
from headrace.model.process_end import ExitCalled
from headrace.spark.channel import messages
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.task import task_protocol as protocol
from headrace.task.task_spec import TaskKind, TaskSpec

SPEC = TaskSpec(ConnectorTaskId("c", 3), TaskKind.SOURCE, "m:C", {"a": "1"}, {}, {}, {}, {}, "offsets", True)
EXAMPLES = [
    messages.Start(SPEC, True, {"root": 30}, ResultLimit(1, 2, "task 0 of connector c")),
    messages.StartShared({"root": 30}),
    messages.RunTask("k"),
    messages.TaskOver("k"),
    messages.LogLevels({"root": 30, "a.b": 5}),
    messages.Attach("k", 1, "h"),
    messages.Log("l", 20, "text"),
    ExitCalled("a.Task.poll (Task.java:76)"),
    messages.RunFrameJob(3, FrameJob("m:f", {"a": "1"}), Endpoint("/tmp/s", b"key"), b"schema"),
    messages.CancelFrameJob(3),
    messages.FrameJobEnded(3, 2, b"schema", messages.FrameFault.DATA, "why"),
    protocol.Asked(1, protocol.ConfirmStart()),
    protocol.Asked(2, protocol.ReadOffsets(({"p": 1},))),
    protocol.Asked(3, protocol.WriteOffsets({b"k": b"v", b"gone": None})),
    protocol.Answered(2, ({"n": 1}, None)),
    protocol.Answered(3, refusal=protocol.Refusal("the disk is full", True)),
    protocol.Running(),
    protocol.Paused(),
    protocol.OffsetsCommitted((({"p": 1}, None),)),
    protocol.TopicsUsed(("t",)),
    protocol.Metrics({"m": 1.0}, Progress(Stage.PUTTING, 5, 1, None, 2)),
    protocol.Measured(Progress(Stage.POLLING, 3)),
    protocol.ErrorMet(TaskError("E", "message", Stage.POLLING, Handling.RETRIED, 0, {"topic": "t"}, None, 1)),
    protocol.SchemasSeen({"t": (("id", "int32"),)}),
    protocol.Ended(protocol.Outcome.FAILED, "trace"),
]
WITHIN_THE_WORKER = set(get_args(protocol.EngineEvent))


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda m: type(m).__name__)
def test_messages_arrive_as_they_were_sent(message: object) -> None:
    assert pickle.loads(pickle.dumps(message)) == message


def test_there_is_an_example_of_each() -> None:
    kinds: set[type] = {ExitCalled} | {
        kind
        for module in (messages, protocol)
        for kind in vars(module).values()
        if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
    }
    examples = {type(example) for example in EXAMPLES}
    carried = {type(e.request) for e in EXAMPLES if isinstance(e, protocol.Asked)} | {protocol.Refusal}
    assert kinds - WITHIN_THE_WORKER == examples | carried


@pytest.mark.parametrize("kind", [*get_args(protocol.Event), *get_args(protocol.AnyRequest)], ids=lambda k: k.__name__)
def test_messages_do_not_change(kind: type) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "__dict__" not in dir(kind)


def test_commands_stay_the_very_same() -> None:
    for command in protocol.Command:
        assert pickle.loads(pickle.dumps(command)) is command
