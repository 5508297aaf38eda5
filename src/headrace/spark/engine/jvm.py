# SPDX-License-Identifier: Apache-2.0
"""What an engine needs of a JVM of Spark's, be it this process' own (``SparkJvm``) or another's (``HostedJvm``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headrace.spark.channel.messages import FrameJobEnded, RunFrameJob
from headrace.spark.engine.running_job import RunningJob
from headrace.spark.engine.slots import Cores


class JvmProcess(Protocol):
    """The operating system's process that starts, and with which the JVM ends."""

    def kill(self) -> None: ...

    def last_words(self) -> str | None:
        """What the JVM has said of an error; None if nothing."""


class Jvm(Protocol):
    """One JVM with its Spark application, which is up. Thread-safe."""

    killed: bool
    """Whether it was ended on purpose, while jobs ran."""

    def __hash__(self) -> int:
        """Each is itself."""

    def run(self, group: str, description: str) -> None:
        """Run one task's job to its end."""

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        """Run a frame job of the task's launch ``key``, all of which share a session."""

    def forget_frames(self, key: str) -> None:
        """No frame job of that launch follows."""

    def cancel(self, group: str) -> None: ...

    def running(self, group: str) -> RunningJob:
        """Where the newest job of a group runs."""

    def unscheduled(self, group: str) -> bool:
        """Whether a job of the group is there of which nothing runs."""

    def cores(self) -> Cores:
        """Of its executors, as Spark has last counted them."""

    def forgotten(self) -> bool:
        """Whether a cluster that is there does not know this application."""

    @property
    def process_alive(self) -> bool:
        """Asks the operating system alone."""

    def alive(self) -> bool:
        """Whether jobs can still be run."""

    def send_log_levels(self, levels: Mapping[str, int]) -> None:
        """What its process' loggers are to let through from now on."""

    def stop(self) -> None:
        """In order, and by force if that takes too long."""

    def kill(self) -> None:
        """End it at once, and with it all jobs."""
