# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from headrace.metrics.exposition import Exposition
from headrace.metrics.figures import RunFigures, TaskRunFigures, WorkerFigures
from headrace.model.ids import ConnectorTaskId
from headrace.model.step_counts import StepCounts, StepKind

STEPS = (
    StepCounts(StepKind.SOURCE, None, None, 10, None, 0, 2),
    StepCounts(StepKind.TRANSFORMATION, "only-new", 10, 7, 3, 0, 0),
    StepCounts(StepKind.TOPIC, None, 7, None, None, 1, 0),
)


def test_the_steps_of_a_task_have_the_counts_that_there_are() -> None:
    tasks = {ConnectorTaskId("c", 1): TaskRunFigures(RunFigures("running", 1, 0), {}, STEPS)}
    text, _ = Exposition(lambda: WorkerFigures(tasks=tasks)).render("")
    name = "kafka_connect_task_step_"
    found = {line for line in text.decode().splitlines() if line.startswith(name)}
    source, chosen, topic = (
        f'{{connector="c",step="{step}",task="1",transform="{alias}"}}'
        for step, alias in (("source", ""), ("transformation", "only-new"), ("topic", ""))
    )
    assert found == {
        f"{name}records_out_total{source} 10.0",
        f"{name}errors_total{source} 0.0",
        f"{name}retries_total{source} 2.0",
        f"{name}records_in_total{chosen} 10.0",
        f"{name}records_out_total{chosen} 7.0",
        f"{name}records_filtered_total{chosen} 3.0",
        f"{name}errors_total{chosen} 0.0",
        f"{name}retries_total{chosen} 0.0",
        f"{name}records_in_total{topic} 7.0",
        f"{name}errors_total{topic} 1.0",
        f"{name}retries_total{topic} 0.0",
    }
