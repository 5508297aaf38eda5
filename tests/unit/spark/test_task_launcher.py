# SPDX-License-Identifier: Apache-2.0
"""The launcher's part in the worker, while Spark has not started."""

from __future__ import annotations

import sys
from dataclasses import replace

from headrace.config.engine_config import EngineConfig
from headrace.model.ids import ConnectorTaskId
from headrace.model.thread_switching import switch_interval
from headrace.spark.task.spark_task_launcher import SparkTaskLauncher
from tests.unit.spark.conftest import SPEC, HeardTask

_TASKS = 60


def test_threads_switch_less_often_while_it_has_many_tasks() -> None:
    launcher = SparkTaskLauncher(EngineConfig())
    try:
        specs = [replace(SPEC, id=ConnectorTaskId("c", task)) for task in range(_TASKS)]
        tasks = [launcher.launch(spec, HeardTask()) for spec in specs]
        assert sys.getswitchinterval() == switch_interval(_TASKS) > switch_interval(0)
        for each in tasks:
            each.stop()
        assert all(each.await_stopped(30) for each in tasks)
        assert sys.getswitchinterval() == switch_interval(0)
    finally:
        launcher.stop(10)
