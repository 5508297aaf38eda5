# SPDX-License-Identifier: Apache-2.0
"""The processes of a quickstart: a broker and a worker, which end with this process, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2

from headrace.api.errors import ConnectError
from headrace.broker.broker_template import broker_template
from headrace.broker.child_process import start_child
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import LOOPBACK, free_port
from headrace.cli.ctl.address import Address, Login
from headrace.cli.ctl.ctl_error import CtlError
from headrace.cli.ctl.rest_api import RestApi, path
from headrace.cli.quickstart.comparison import TopicRecords
from headrace.cli.quickstart.connector_pair import worker_properties
from headrace.cli.quickstart.run_directory import RunDirectory

_STOP_S: Final = 30.0
"""Longer than a worker takes for an orderly stop: 5 s for its tasks, and 10 s."""
_BROKER_START_S: Final = 180.0
_ANSWER_S: Final = 5.0


class Services:
    """A broker, a worker and clients of both. For one thread."""

    def __init__(self, directory: RunDirectory, topic: str) -> None:
        self._directory = directory
        self.broker = EmbeddedBroker(directory.broker, 0, jvm_options=QUICK_START_JVM_OPTIONS)
        port = free_port()
        self.url = f"http://{LOOPBACK}:{port}"
        self.records = TopicRecords(self.broker.bootstrap_servers, topic)
        self._port = port
        self._rest = RestApi(Address(self.url, {}, "the quickstart's worker"), Login())
        self._worker: subprocess.Popen[bytes] | None = None

    def prepare_broker(self, progress: Callable[[str], None]) -> None:
        """Download Kafka's jars and make the broker's template, if that is not done. `progress` gets names of jars."""
        broker_template(progress)

    def start_broker(self) -> None:
        """Start the broker, create the topic and begin to read it."""
        self.broker.start(_BROKER_START_S)
        self.records.start()

    def start_worker(self) -> None:
        """Start the worker, once there is a broker. It answers soon, while Spark starts in the background."""
        file = self._directory.worker_file
        file.write_text(worker_properties(self.broker.bootstrap_servers, self._port))
        command = [sys.executable, "-m", "headrace", "distributed", str(file)]
        self._worker = start_child(command, self._directory.worker_log, dict(os.environ))

    def check(self) -> None:
        """Raise ConnectError if the broker or the worker has ended."""
        if self.broker.pid is None:
            raise ConnectError(f"The broker has ended. Its log: {self.broker.log_path}")
        if self._worker is not None and self._worker.poll() is not None:
            lines = self._directory.worker_log.read_text(errors="replace").strip().splitlines()
            last = lines[-1] if lines else "it logged nothing"
            raise ConnectError(f"The worker has ended: {last}. Its log: {self._directory.worker_log}")

    def ask(self, *segments: str, **params: Any) -> Any:
        """Return the JSON of a path of the REST API; None if the worker does not answer it yet."""
        try:
            return self._rest.get(path(*segments), **params)
        except CtlError:
            return None

    def metrics(self) -> str:
        """Return the worker's metrics; empty if it does not answer."""
        try:
            return httpx2.get(f"{self.url}/metrics", timeout=_ANSWER_S).text
        except httpx2.TransportError:
            return ""

    def configure(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Create the connectors, or change those of a former run, and let them run. Raise CtlError if refused."""
        for name, config in configs.items():
            self._rest.send("PUT", path("connectors", name, "config"), dict(config))
            self._rest.send("PUT", path("connectors", name, "resume"))

    def stop_connector(self, name: str) -> None:
        """Request that the connector stops."""
        self._rest.send("PUT", path("connectors", name, "stop"))

    def stop(self) -> None:
        """Stop everything in order, by force where that takes too long."""
        self._rest.close()
        try:
            self._stop_worker()
            self.records.stop()
        finally:
            self.broker.close()

    def _stop_worker(self) -> None:
        worker = self._worker
        if worker is None or worker.poll() is not None:
            return
        worker.send_signal(signal.SIGTERM)
        try:
            worker.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
