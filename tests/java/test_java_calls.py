# SPDX-License-Identifier: Apache-2.0
"""Each call of the runtime is one of the Java task, in the same order; and what an interrupt of its thread ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.errors import ConnectError
from headrace.api.record import SinkRecord
from headrace.api.sink import OffsetAndMetadata, TopicPartition
from headrace.api.source import RecordMetadata, SourceTask
from headrace.java.sink_task import sink_task_class
from headrace.java.source_task import source_task_class
from tests.java.java_connectors import Plugin, compiled
from tests.java.task_contexts import KeptOffsets, SinkContext, SourceContext

PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1)]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    return compiled("CallsTasks", tmp_path_factory.mktemp("jars"))


def source(tasks: Plugin, calls: Path, **props: str) -> SourceTask:
    task = source_task_class(tasks.jars, "CallsTasks$CallsSourceTask")()
    task.initialize(SourceContext(KeptOffsets()))
    task.start({"calls": str(calls), **props})
    return task


def test_of_a_source(tasks: Plugin, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    task = source(tasks, calls)
    (record,) = task.poll() or ()
    task.commit_record(record, RecordMetadata("t", 0, 17, None))
    task.commit()
    task.stop()
    assert calls.read_text().split("\n") == ["start true", "poll", "commitRecord v 17", "commit", "stop", ""]


def test_of_a_sink(tasks: Plugin, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    task = sink_task_class(tasks.jars, "CallsTasks$CallsSinkTask")()
    task.initialize(SinkContext())
    task.start({"calls": str(calls)})
    task.open(PARTITIONS)
    task.put([SinkRecord("t", 0, None, None, None, "v", 4)])
    offsets = {PARTITIONS[0]: OffsetAndMetadata(5)}
    assert task.pre_commit(offsets) == offsets
    task.close(PARTITIONS[1:])
    task.stop()
    expected = ["start true", "open [t-0, t-1]", "put 1", "flush t-0 5", "close [t-1]", "stop", ""]
    assert calls.read_text().split("\n") == expected


def test_an_interrupt_before_stop_is_an_error_and_after_it_is_the_end(tasks: Plugin, tmp_path: Path) -> None:
    """Java's worker ends such a task without an error, and nobody notices that its connector has stopped."""
    task = source(tasks, tmp_path / "calls", interrupted="true")
    with pytest.raises(ConnectError, match=r"poll of CallsTasks\$CallsSourceTask: .*InterruptedException"):
        task.poll()
    task.stop()
    assert task.poll() is None
