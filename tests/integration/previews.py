# SPDX-License-Identifier: Apache-2.0
"""Requests for previews, the processes in which they run, and the ends of all topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import psutil
from confluent_kafka import Consumer, TopicPartition

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
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


def ends_at_rest(broker: EmbeddedBroker) -> dict[tuple[str, int], int]:
    """The ends once nothing was written for some time, so that what is written later shows."""
    found = [ends(broker)]

    def at_rest() -> bool:
        found.append(ends(broker))
        return len(found) > 5 and all(each == found[-1] for each in found[-5:])

    wait_for(at_rest, 60, "the topics to rest")
    return found[-1]


def ends(broker: EmbeddedBroker) -> dict[tuple[str, int], int]:
    """The ends of all partitions, consumer groups' offsets included, but for what the tests' other worker has."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "none"})
    try:
        found = consumer.list_topics(timeout=30).topics
        return {
            (name, number): consumer.get_watermark_offsets(TopicPartition(name, number), timeout=30)[1]
            for name, topic in found.items()
            if not name.startswith("headrace-tests")
            for number in topic.partitions
        }
    finally:
        consumer.close()
