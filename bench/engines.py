# SPDX-License-Identifier: Apache-2.0
"""A Connect worker as a child process: what both engines have in common, and headrace's own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from bench.rest import ConnectRest
from headrace.broker.child_process import start_child
from headrace.broker.free_port import free_port

STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_LOG = "worker.log"


class Engine:
    """One distributed worker, in a group of its own unless one is given. Subclasses say how it is started."""

    name: str

    def __init__(
        self, bootstrap_servers: str, directory: Path, converter: str = STRING_CONVERTER, group: str | None = None
    ) -> None:
        self.directory = directory
        self.bootstrap_servers = bootstrap_servers
        self.group = group or f"bench-{self.name}"
        self._converter = converter
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.more: dict[str, str] = {}
        """Worker properties that win over all others."""
        self.rest = ConnectRest(f"http://127.0.0.1:{self._port}")

    def command(self, properties: Path) -> list[str]:
        raise NotImplementedError

    def extra_properties(self) -> dict[str, str]:
        return {}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, timeout: float = 90) -> float:
        """Start the worker; the seconds until it can be given connectors."""
        began = self.launch()
        while not self.rest.is_ready():
            if self._process is None or self._process.poll() is not None or time.monotonic() - began > timeout:
                self.stop()
                raise RuntimeError(f"{self.name} did not start; its log: {self.directory / _LOG}")
            time.sleep(0.05)
        return time.monotonic() - began

    def launch(self) -> float:
        """Start the worker's process without waiting for anything; the time (`time.monotonic`) just before."""
        self.directory.mkdir(parents=True, exist_ok=True)
        properties = self.directory / "worker.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in self._properties().items()))
        began = time.monotonic()
        self._process = start_child(self.command(properties), self.directory / _LOG)
        return began

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _properties(self) -> dict[str, str]:
        topics = {
            f"{kind}.storage.{key}": value
            for kind, plural in (("config", "configs"), ("offset", "offsets"), ("status", "status"))
            for key, value in (("topic", f"{self.group}-{plural}"), ("replication.factor", "1"))
        }
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "group.id": self.group,
            "listeners": f"http://127.0.0.1:{self._port}",
            "key.converter": self._converter,
            "value.converter": self._converter,
            "exactly.once.source.support": "enabled",
            **topics,
            **self.extra_properties(),
            **self.more,
        }

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Headrace(Engine):
    """This project's worker, with Spark in local mode."""

    name = "headrace"

    def command(self, properties: Path) -> list[str]:
        return [sys.executable, "-m", "headrace", "distributed", str(properties)]

    def extra_properties(self) -> dict[str, str]:
        return {"plugin.path": str(Path(__file__).parent / "plugins")}
