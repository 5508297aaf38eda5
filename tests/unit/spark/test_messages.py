# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import pickle

import pytest

from headrace.api.frames import FrameJob
from headrace.model.ids import ConnectorTaskId
from headrace.spark.channel import messages
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.channel.frame_limits import ResultLimit
from headrace.spark.channel.messages import Command
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.worker_task import Ended, Outcome

SPEC = TaskSpec(ConnectorTaskId("c", 3), TaskKind.SOURCE, "m:C", {"a": "1"}, {}, {}, {}, {}, "offsets", True)
EXAMPLES = [
    messages.Start(SPEC, True, {"root": 30}, ResultLimit(1, 2, "task 0 of connector c")),
    messages.LogLevels({"root": 30, "a.b": 5}),
    messages.Refused("why"),
    messages.OffsetsRead(({"n": 1}, None), None),
    messages.Attach("k", 1, "h"),
    messages.ConfirmStart(),
    messages.ReadOffsets(({"p": 1},)),
    messages.OffsetsWritten("the disk is full"),
    messages.WriteOffsets({b"k": b"v", b"gone": None}),
    messages.Running(),
    messages.Paused(),
    messages.OffsetsCommitted((({"p": 1}, None),)),
    messages.TopicsUsed(("t",)),
    messages.Metrics({"m": 1.0}),
    messages.Log("l", 20, "text"),
    messages.RunFrameJob(3, FrameJob("m:f", {"a": "1"}), Endpoint("/tmp/s", b"key"), b"schema"),
    messages.CancelFrameJob(3),
    messages.FrameJobEnded(3, 2, b"schema", messages.FrameFault.DATA, "why"),
    messages.Done(Ended(Outcome.FAILED, "trace")),
]


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda m: type(m).__name__)
def test_messages_arrive_as_they_were_sent(message: object) -> None:
    assert pickle.loads(pickle.dumps(message)) == message


def test_there_is_an_example_of_each() -> None:
    kinds = {kind for kind in vars(messages).values() if dataclasses.is_dataclass(kind)}
    assert {k for k in kinds if k.__module__ == messages.__name__} == {type(example) for example in EXAMPLES}


def test_commands_stay_the_very_same() -> None:
    for command in Command:
        assert pickle.loads(pickle.dumps(command)) is command
