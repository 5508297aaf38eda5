# SPDX-License-Identifier: Apache-2.0
"""The host process of a JVM of Spark's for one connector alone: a Python process can have one Spark application.

It is started by ``HostedJvm``'s worker and ends with it, and with its JVM. Its argument is the descriptor of the socket
to the worker.
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
from headrace.model.process_group import block_stop_signals, outlive_stop_signals
from headrace.spark.channel.messages import FrameFault, LogLevels
from headrace.spark.engine.jvm_calls import Answer, Call, HostStart, HostUp
from headrace.spark.engine.shipment import Shipment
from headrace.spark.engine.spark_process import SparkProcess
from headrace.spark.engine.spark_session import SparkJvm, silence_query_loggers
from headrace.spark.errors.frame_errors import known_fault
from headrace.spark.process.channel_link import log_through

if TYPE_CHECKING:
    Link = Connection[Any, Any]

_CHECK_INTERVAL_S: Final = 0.2
_LAST_ANSWERS_S: Final = 2.0
"""Seconds for answers to calls that were under way when the JVM ended."""


class JvmHost:
    """The host's end of the calls. ``serve`` runs on the main thread, which the JVM is tied to; calls have threads."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sending = threading.Lock()
        self._jvm: SparkJvm | None = None

    def send_message(self, message: object) -> None:
        """Send a message to the worker. Any thread."""
        try:
            with self._sending:
                self._link.send(message)
        except OSError:
            os._exit(1)

    def serve(self, start: HostStart) -> None:
        """Start Spark and serve calls, until the JVM has ended or could not be started."""
        try:
            process = SparkProcess(start.conf, start.directory, start.plugin_path, start.console, tied=True)
            threading.Thread(target=self._listen, args=(process,), name="jvm-calls", daemon=True).start()
            shipment = Shipment(start.directory, start.plugin_path) if start.shipped else None
            self._jvm = SparkJvm(process, start.conf, start.endpoint, shipment)
            outlive_stop_signals()  # now that PySpark has installed its handler of SIGINT
        except ConnectError as error:
            self.send_message(HostUp(str(error), isinstance(error, ConfigError)))
            return
        except Exception as error:  # as of a full disk: the worker tries again
            self.send_message(HostUp(error_line(error)))
            return
        self.send_message(HostUp())
        while process.alive:
            time.sleep(_CHECK_INTERVAL_S)
        time.sleep(_LAST_ANSWERS_S)

    def _listen(self, process: SparkProcess) -> None:
        while True:
            try:
                call = self._link.recv()
            except (EOFError, OSError):  # the worker has ended
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
        except BaseException as error:  # code of users may end this thread, and the worker waits for an answer
            answer = Answer(call.number, fault=FrameFault.DATA, error=error_line(error))
        self.send_message(answer)


def main(descriptor: int) -> None:
    """Run the host until the JVM or the worker has ended."""
    block_stop_signals()
    link: Link = Connection(descriptor)
    start: HostStart = link.recv()
    sys.path[:] = start.module_path
    protect(start.protected_paths)
    # Levels make loggers, of the ordinary class, which PySpark's own errors are none for.
    silence_query_loggers()
    host = JvmHost(link)
    with log_through(host, start.log_levels):
        host.serve(start)
    # Not an orderly exit: threads of calls may wait without limit for a JVM that is gone.
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
