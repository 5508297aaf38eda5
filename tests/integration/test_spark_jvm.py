# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import psutil

from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.engine.class_archive_maker import make_class_archive
from headrace.spark.engine.spark_engine import SparkEngine
from headrace.spark.engine.spark_settings import settings
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of, command_of
from tests.support.worker_process import WorkerProcess


def test_sparks_jvm_takes_its_classes_from_the_archive(worker: WorkerProcess) -> None:
    archive, process = make_class_archive().path, psutil.Process(worker.launched.pid)
    assert archive.exists()

    def mapped() -> list[int]:
        jvms = [each.pid for each in process.children(recursive=True) if "java" in each.name()]
        return [pid for pid in jvms if str(archive) in Path(f"/proc/{pid}/maps").read_text()]

    # A worker answers before its Spark is up.
    (jvm,) = wait_for(mapped, 60, f"a JVM that has mapped {archive}")
    (found,) = [each for each in psutil.Process(jvm).memory_maps() if each.path == str(archive)]
    # Elsewhere than where it was made for, the JVM writes to nearly all of it.
    assert found.private_dirty < found.rss / 2, found


def test_a_jvm_that_is_still_starting_is_ended_too(tmp_path: Path) -> None:
    engine = SparkEngine(settings({}, tmp_path), tmp_path, Endpoint("", b""))

    def mine() -> list[psutil.Process]:
        return [each for each in children_of(os.getpid(), recursive=True) if str(tmp_path) in command_of(each)]

    engine.start()
    started = wait_for(mine, 20, "Spark's launcher")
    engine.stop()
    wait_for(lambda: not any(map(alive, started)), 5, lambda: f"the ends of {started}")
    assert not mine(), "another one was started"
