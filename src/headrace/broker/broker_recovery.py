# SPDX-License-Identifier: Apache-2.0
"""Fencing of the session of a broker's last run, before it is started again.

Kafka 4.3 takes a partition without a leader for a deleted one, and ends transactions without their markers there
(KAFKA-20734): the last stable offset never advances again, or what was aborted is visible with the next commit. A
single node must not run without being the leader of all partitions. So it keeps its leadership when it is shut down
(`controlled.shutdown.enable`), and comes back still registered by its last run. A short run of the node's controller
alone fences that session first, before there is a coordinator. It also takes less time than the session's timeout.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from headrace.api.errors import ConnectError
from headrace.broker.broker_files import (
    LOG_FILE,
    broker_command,
    metadata_directory,
    recovery_properties,
    write_configuration,
)
from headrace.broker.broker_log import written_from_now
from headrace.broker.broker_template import BrokerTemplate
from headrace.broker.child_process import start_child
from headrace.broker.free_port import free_port

_ACTIVE = b"Performing controller activation"
_FENCED = b"Fencing broker 1 at epoch"
_GRACE_S = 1.0
_PAUSE_S = 0.02


def end_former_session(template: BrokerTemplate, data_dir: Path, deadline: float) -> None:
    """Run the controller of `data_dir` until it has fenced its broker, at most until `deadline` (monotonic seconds).

    Raises:
        ConnectError: the controller ended, or did not get active in time.
    """
    log = data_dir / LOG_FILE
    properties = write_configuration(data_dir, recovery_properties(free_port(), data_dir), "recovery.properties")
    options = (*template.jvm_options, "-XX:TieredStopAtLevel=1", "-Xmx256m")
    command = broker_command(template.java, template.jars, data_dir, options, ("kafka.Kafka", str(properties)))
    failure = ConnectError(f"The embedded broker could not end the session of its last life. Its log: {log}")
    with written_from_now(log) as written:
        controller = start_child(command, log)
        try:
            active_since: float | None = None
            while not (_FENCED in (text := written()) or _is_over(active_since)):
                if active_since is None and _ACTIVE in text:
                    active_since = time.monotonic()
                if controller.poll() is not None or time.monotonic() > deadline:
                    raise failure
                time.sleep(_PAUSE_S)
            _await_appends(data_dir, deadline)
            controller.terminate()
            controller.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise failure from error
        finally:
            controller.kill()
            controller.wait()


def _is_over(active_since: float | None) -> bool:
    """Return True if no fencing will come: a broker that ended unregistered or fenced is not fenced again."""
    return active_since is not None and time.monotonic() - active_since > _GRACE_S


def _await_appends(data_dir: Path, deadline: float) -> None:
    """Wait until the controller's decisions so far are in its log: they are lost if it is stopped before.

    Records are appended in order, and an idle controller appends a no-op record at intervals
    (`recovery_properties`). The first append from here on may be of an earlier decision; the second is not.
    """
    for _ in range(2):
        size = _metadata_size(data_dir)
        while _metadata_size(data_dir) == size and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)


def _metadata_size(data_dir: Path) -> int:
    return sum(log.stat().st_size for log in metadata_directory(data_dir).glob("*.log"))
