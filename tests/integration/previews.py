# SPDX-License-Identifier: Apache-2.0
"""Requests for previews, and the processes in which they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import psutil

from tests.support.worker_process import WorkerProcess

STUBBORN = "stubborn_source.StubbornSource"


def sandboxes(worker: WorkerProcess) -> list[psutil.Process]:
    return [each for each in worker.descendants() if runs_a_job(each)]


def runs_a_job(process: psutil.Process) -> bool:
    try:
        return any("headrace.inspection" in each for each in process.cmdline())
    except psutil.Error:  # it has just ended
        return False


def marked(mark: str) -> list[psutil.Process]:
    """All processes of the machine with a text in their arguments."""
    return [each for each in psutil.process_iter(["cmdline"]) if mark in (each.info["cmdline"] or ())]


def preview(worker: WorkerProcess, config: dict[str, str], **query: Any) -> httpx2.Response:
    path = f"/connector-plugins/{config['connector.class']}/config/preview"
    return worker.rest.post(path, json=config, params=query)


def lines_config(name: str, file: Path, **more: str) -> dict[str, str]:
    return {"name": name, "connector.class": "FileStreamSource", "file": str(file), "topic": name, **more}
