# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.api.sink import TopicPartition
from headrace.task.sink.sink_task_context import PartitionPauses

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_the_tasks_wish_lasts_behind_the_others() -> None:
    pauses = PartitionPauses()
    pauses.of_task.add(A)
    assert pauses.paused({A, B}) == {A}
    pauses.connector = True
    assert pauses.paused({A, B}) == {A, B}
    pauses.redelivery, pauses.connector = True, False
    assert pauses.paused({A, B}) == {A, B}
    pauses.redelivery = False
    assert pauses.paused({A, B}) == {A}
    assert pauses.paused({B}) == set()
    pauses.remove_partitions({A})
    assert pauses.paused({A, B}) == set()
