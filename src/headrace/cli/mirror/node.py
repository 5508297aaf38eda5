# SPDX-License-Identifier: Apache-2.0
"""A node of MirrorMaker 2: a worker process for each pair of clusters, which start and end together."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError, ConnectError
from headrace.broker.child_process import start_child
from headrace.cli.console import EXIT_MISCONFIGURED, LogLevel
from headrace.cli.mirror.mirror_config import CONNECTORS, MirrorConfig, Pair
from headrace.cli.mirror.pair_properties import worker_properties
from headrace.cli.mirror.pair_worker import errors_of, mirror_config
from headrace.cli.stop_signals import StopSignals, run_until_stopped
from headrace.cli.worker_process import check_java, resolved_properties
from headrace.cli.worker_properties import check_worker_properties
from headrace.config.connector_config import CONNECTOR_CLASS
from headrace.config.distributed_config import DistributedConfig
from headrace.model.deadline import Deadline
from headrace.plugins.discovery import plugins_of

log = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.5
_STOP_MARGIN_SECONDS: Final = 30.0
"""Time for a worker to stop, beside that of its tasks."""


def run_node(file: Path, clusters: Sequence[str], log_level: LogLevel) -> int:
    """Run the workers whose target is one of ``clusters``, or all, until a signal; return the exit code.

    Raise ConfigError for a mistake in the file, before any worker is started, and ConnectError if one has ended.
    """
    return run_until_stopped(lambda signals: _run(file, clusters, log_level, signals))


def _run(file: Path, clusters: Sequence[str], log_level: LogLevel, signals: StopSignals) -> int:
    with mirror_config(file) as config:
        pairs = config.pairs(clusters)
        check_java()
        seconds = max(checked_stop_timeout(config, pair) for pair in pairs)
    node = MirrorNode({pair: _command(file, pair, log_level) for pair in pairs}, seconds)
    return node.run(signals)


def _command(file: Path, pair: Pair, log_level: LogLevel) -> Sequence[str]:
    own = ("--pair", str(pair), "--log-level", str(log_level))
    return (sys.executable, "-m", "headrace", "mirror", *own, "--", str(file.absolute()))


def checked_stop_timeout(config: MirrorConfig, pair: Pair) -> float:
    """Return the seconds that the pair's worker may take to stop.

    Raise ConfigError for mistakes in its properties, and if MirrorMaker is not installed.
    """
    with errors_of(pair), resolved_properties(worker_properties(config, pair)) as properties:
        check_worker_properties(DistributedConfig, properties)
        worker = DistributedConfig(properties)
        plugins = plugins_of(worker.raw)
        for name in CONNECTORS:
            plugins.connector(config.connector_config(pair, name)[CONNECTOR_CLASS])
        return worker.graceful_timeout + _STOP_MARGIN_SECONDS


class MirrorNode:
    """The worker processes of a node. One that ends ends all others; none outlives this process."""

    def __init__(self, commands: Mapping[Pair, Sequence[str]], stop_timeout: float) -> None:
        self._commands = commands
        self._stop_timeout = stop_timeout
        self._workers: dict[Pair, subprocess.Popen[bytes]] = {}

    def run(self, signals: StopSignals) -> int:
        """Return 0 after a signal has stopped all. Raise ConnectError if a worker has ended by itself."""
        signals.await_orderly()
        try:
            for pair, command in self._commands.items():
                log.info("Starting the worker of %s", pair)
                self._workers[pair] = start_child(command, None)
            while not signals.wait(_POLL_SECONDS):
                self._check()
        finally:
            self._stop()
        return 0

    def _check(self) -> None:
        for pair, worker in self._workers.items():
            if (code := worker.poll()) is not None:
                kind = ConfigError if code == EXIT_MISCONFIGURED else ConnectError
                how = f"by signal {-code}" if code < 0 else f"with exit code {code}; its last lines say why"
                raise kind(f"The worker of {pair} has ended {how}. All others were stopped")

    def _stop(self) -> None:
        running = {pair: worker for pair, worker in self._workers.items() if worker.poll() is None}
        for worker in running.values():
            worker.send_signal(signal.SIGTERM)
        deadline = Deadline.after(self._stop_timeout)
        for pair, worker in running.items():
            try:
                worker.wait(deadline.remaining())
            except subprocess.TimeoutExpired:
                log.warning("The worker of %s has not stopped within %.0f s and is killed", pair, self._stop_timeout)
                worker.kill()
                worker.wait()
