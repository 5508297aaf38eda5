# SPDX-License-Identifier: Apache-2.0
"""The process that has a JVM of Spark's for one connector alone: a Python process can have one Spark application.

It is started by ``HostedJvm``'s worker and ends with it, and with its JVM. Its one argument is the descriptor of the
socket that leads to the worker.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Final

from headrace.api.error_text import error_line
from headrace.api.errors import ConfigError, ConnectError
from headrace.api.protected_files import protect
from headrace.logs.loggers import apply_levels
from headrace.spark.channel.messages import FrameFault, LogLevels
from headrace.spark.engine.jvm_calls import Answer, Call, HostStart, HostUp
from headrace.spark.engine.shipment import Shipment
from headrace.spark.engine.spark_process import SparkProcess
from headrace.spark.engine.spark_session import SparkJvm
from headrace.spark.errors.frame_errors import known_fault
from headrace.spark.process.channel_link import log_through

if TYPE_CHECKING:
    Link = Connection[Any, Any]

_LOOK: Final = 0.2
_LAST_ANSWERS: Final = 2.0
"""Seconds for those who called to be told that the JVM has ended."""


class JvmHost:
    """``serve`` is for the main thread, to which the JVM is tied. Each call has a thread of its own."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sending = threading.Lock()
        self._jvm: SparkJvm | None = None

    def send(self, message: object) -> None:
        """Any thread."""
        try:
            with self._sending:
                self._link.send(message)
        except OSError:
            os._exit(1)

    def serve(self, start: HostStart) -> None:
        """Returns when the JVM has ended, or could not be started."""
        try:
            process = SparkProcess(start.conf, start.directory, start.plugin_path, start.console, tied=True)
            threading.Thread(target=self._listen, args=(process,), name="jvm-calls", daemon=True).start()
            shipment = Shipment(start.directory, start.plugin_path) if start.shipped else None
            self._jvm = SparkJvm(process, start.conf, start.endpoint, shipment)
        except ConnectError as error:
            self.send(HostUp(str(error), isinstance(error, ConfigError)))
            return
        except Exception as error:  # as of a full disk: the worker is told, and tries again
            self.send(HostUp(error_line(error)))
            return
        self.send(HostUp())
        while process.alive:
            time.sleep(_LOOK)
        time.sleep(_LAST_ANSWERS)

    def _listen(self, process: SparkProcess) -> None:
        while True:
            try:
                call = self._link.recv()
            except (EOFError, OSError):  # the worker has ended, however that came
                process.kill()
                os._exit(0)
            if isinstance(call, LogLevels):
                apply_levels(call.levels)
            else:
                threading.Thread(target=self._answer, args=(call,), name=f"jvm-call-{call.method}", daemon=True).start()

    def _answer(self, call: Call) -> None:
        try:
            answer = Answer(call.number, getattr(self._jvm, call.method)(*call.arguments))
        except Exception as error:
            fault, text = known_fault(error)
            answer = Answer(call.number, fault=fault, error=text)
        except BaseException as error:  # code of users may end a thread, and the worker waits
            answer = Answer(call.number, fault=FrameFault.DATA, error=error_line(error))
        self.send(answer)


def main(descriptor: int) -> None:
    """Blocks until the JVM has ended, or the worker."""
    link: Link = Connection(descriptor)
    start: HostStart = link.recv()
    sys.path[:] = start.module_path
    protect(start.protected_paths)
    host = JvmHost(link)
    with log_through(host, start.log_levels):
        host.serve(start)
    # In order nothing ends here: threads of calls may wait for ever for a JVM that is gone.
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
