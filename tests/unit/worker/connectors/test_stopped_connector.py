# SPDX-License-Identifier: Apache-2.0
"""STOPPED is reached from wherever a connector is (KIP-875)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.model.state import TargetState
from headrace.worker.worker import Worker

STOPPED, STARTED, PAUSED = TargetState.STOPPED, TargetState.STARTED, TargetState.PAUSED
WAIT = 10


def move(worker: Worker, state: TargetState) -> None:
    worker.set_connector_target_state("c", state).result(WAIT)


def test_a_running_one(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    worker.start_connector("c", source_config(), STARTED, callbacks).result(WAIT)
    for _ in range(2):
        move(worker, STOPPED)
    assert status.of("c") == ["startup", "stop"]
    with pytest.raises(ConnectError, match="is stopped and so makes no task configurations"):
        worker.connector_task_configs("c").result(WAIT)
    move(worker, STARTED)
    assert status.of("c") == ["startup", "stop", "running"]
    assert len(worker.connector_task_configs("c").result(WAIT)) == 2


def test_one_that_was_started_stopped(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    worker.start_connector("c", source_config(), STOPPED, callbacks).result(WAIT)
    move(worker, PAUSED)
    assert status.of("c") == ["stop", "pause"]
    worker.stop_connector("c").result(WAIT)
    assert status.of("c") == ["stop", "pause", "shutdown"]


def test_one_that_has_failed(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    config = source_config(fail_in="task_configs")
    worker.start_connector("c", config, STARTED, callbacks).result(WAIT)
    with pytest.raises(ConnectError):
        worker.connector_task_configs("c").result(WAIT)
    with pytest.raises(ConnectError, match="has failed"):
        move(worker, PAUSED)
    move(worker, STOPPED)
    assert status.of("c") == ["startup", "failure", "stop"]
    move(worker, STARTED)
    assert status.of("c") == ["startup", "failure", "stop", "running"]


def test_one_that_fails_to_stop(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    worker.start_connector("c", source_config(fail_in="stop"), STARTED, callbacks).result(WAIT)
    move(worker, STOPPED)
    move(worker, STARTED)
    assert status.of("c") == ["startup", "stop", "running"]


def test_one_that_cannot_be_made(worker: Worker, status: Any, callbacks: Any, source_config: Any) -> None:
    config = {**source_config(), "connector.class": "Nothing"}
    with pytest.raises(ConnectError):
        worker.start_connector("c", config, STARTED, callbacks).result(WAIT)
    move(worker, STOPPED)
    assert status.of("c") == ["failure", "stop"]
