# SPDX-License-Identifier: Apache-2.0
"""The Protocols of a JVM of Spark's, this process' own (``SparkJvm``) or another process' (``HostedJvm``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headrace.spark.channel.messages import FrameJobEnded, RunFrameJob
from headrace.spark.engine.running_job import RunningJob
from headrace.spark.engine.slots import Cores


class JvmProcess(Protocol):
    """The operating system's process that the JVM starts in, and ends with."""

    def kill(self) -> None: ...

    def last_words(self) -> str | None:
        """Return the last error that the JVM has printed or logged; None if there is none."""


class Jvm(Protocol):
    """A JVM with its Spark application, which is up. Thread-safe."""

    killed: bool
    """True if it was ended on purpose, while jobs ran."""

    def __hash__(self) -> int:
        """Hash by identity."""

    def run_task_job(self, group: str, description: str) -> None:
        """Run one task's job to its end."""

    def run_frame_job(self, key: str, group: str, description: str, request: RunFrameJob) -> FrameJobEnded:
        """Run a frame job of the task's launch ``key``; jobs of a launch share a session."""

    def close_frame_session(self, key: str) -> None:
        """Close the session of the launch ``key``: no frame job of it follows."""

    def cancel(self, group: str) -> None: ...

    def running(self, group: str) -> RunningJob:
        """Return the newest job of a group, and its executor."""

    def unscheduled(self, group: str) -> bool:
        """Return True if a job of the group is there of which nothing runs."""

    def cores(self) -> Cores:
        """Return the cores of its executors, as Spark has last counted them."""

    def is_unknown_to_master(self) -> bool:
        """Return True if the cluster's master is there and does not know this application."""

    @property
    def process_alive(self) -> bool:
        """True if the JVM's process is there, by the operating system alone."""

    def alive(self) -> bool:
        """Return True if jobs can still be run."""

    def send_log_levels(self, levels: Mapping[str, int]) -> None:
        """Set the levels of its process' loggers."""

    def stop(self) -> None:
        """Stop it in order, and by force if that takes too long."""

    def kill(self) -> None:
        """End it at once, with all jobs."""
