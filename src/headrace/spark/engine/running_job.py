# SPDX-License-Identifier: Apache-2.0
"""The place of a job in Spark, by which to find it in Spark's UI and logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job of one Spark task. ``executor`` and ``host`` are None while it waits for a core."""

    app_id: str
    job_id: int | None = None
    executor: str | None = None
    host: str | None = None


def running_job(context: SparkContext, group: str) -> RunningJob:
    """Return the newest job of a group, from Spark's driver."""
    app_id = str(context.applicationId)
    tracker = context.statusTracker()
    job_id = max(tracker.getJobIdsForGroup(group), default=None)
    info = tracker.getJobInfo(job_id) if job_id is not None else None
    if info is None:
        return RunningJob(app_id, job_id)
    store = context._jsc.sc().statusStore()
    for stage in info.stageIds:
        tasks = store.taskList(stage, store.lastStageAttempt(stage).attemptId(), 100)
        for task in map(tasks.apply, range(tasks.size())):
            if task.status() == "RUNNING":
                return RunningJob(app_id, job_id, str(task.executorId()), str(task.host()))
    return RunningJob(app_id, job_id)
