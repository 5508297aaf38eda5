# SPDX-License-Identifier: Apache-2.0
"""A real `headrace mirror` process, and all processes below it; and Java's MirrorMaker with the same file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from headrace import KAFKA_VERSION
from headrace.jvm.ivy import resolve_jars
from headrace.jvm.java_runtime import find_java
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of, command_of, kill_all
from tests.support.worker_process import ROOT


class MirrorNode:
    """Started and killed any number of times, always with the same file."""

    def __init__(self, directory: Path, name: str, properties: Mapping[str, str], *options: str) -> None:
        self.file = directory / f"{name}.properties"
        self.log_file = directory / f"{name}.log"
        self.properties = dict(properties)
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._left: list[psutil.Process] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None and self._process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.kill()
        with suppress(AssertionError):
            wait_for(lambda: not self.leftovers(), 10)
        kill_all(self.leftovers())

    @property
    def launched(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "headrace", "mirror"]

    def start(self) -> None:
        self.file.write_text("".join(f"{name} = {value}\n" for name, value in self.properties.items()))
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.command(), str(self.file), *self._options],
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def await_log(self, text: str, count: int = 1, seconds: float = 120) -> None:
        """Wait until its lines have the text so often. AssertionError if it has ended."""

        def there() -> bool:
            assert self.launched.poll() is None, f"it ended with {self.launched.returncode}:\n{self.log[-4000:]}"
            return self.log.count(text) >= count

        wait_for(there, seconds, lambda: f"{text} {count} times\n{self.log[-4000:]}")

    def processes(self) -> list[psutil.Process]:
        return children_of(self.launched.pid, recursive=True)

    def workers(self) -> list[psutil.Process]:
        return [child for child in children_of(self.launched.pid) if "--pair" in command_of(child)]

    def kill(self) -> None:
        """SIGKILL to the first process alone: all others have to end by themselves."""
        self._left = self.processes()
        self.launched.kill()
        self.launched.wait()

    def kill_everything(self) -> None:
        """SIGKILL to all processes."""
        self._left = self.processes()
        self.launched.kill()
        kill_all(self._left)
        self.launched.wait()

    def kill_a_worker(self, seconds: float = 60) -> None:
        """SIGKILL to one of the workers, after which the node has to end with exit code 1."""
        self._left = self.processes()
        self.workers()[0].kill()
        assert self.launched.wait(seconds) == 1, self.log[-3000:]

    def stop(self, seconds: float = 60) -> int:
        """SIGTERM, and wait; the exit code."""
        self._left = self.processes()
        self.launched.terminate()
        return self.launched.wait(seconds)

    def leftovers(self) -> list[psutil.Process]:
        """Processes of the last run that are still there."""
        return [process for process in self._left if alive(process)]


class JavaMirrorMaker(MirrorNode):
    """What `connect-mirror-maker.sh` starts."""

    def command(self) -> list[str]:
        mirror = f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}"
        jars = resolve_jars([mirror, "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"])
        options = ["-XX:TieredStopAtLevel=1", "-Xmx512m", "-Dorg.apache.logging.log4j.level=INFO"]
        classpath = os.pathsep.join(map(str, jars))
        return [str(find_java().java), *options, "-cp", classpath, "org.apache.kafka.connect.mirror.MirrorMaker"]
