# SPDX-License-Identifier: Apache-2.0
"""The process of a host of Java: a guard, which leads the process group, and the host, its fork, with a JVM.

``python -m headrace.java.host_process FD`` gets calls over the socket FD. Its standard input stays open for as long as
the worker wants the host to live; when it is closed, the guard kills all that the host has started. The guard writes
the exit status of a host that has ended to standard output. What Java prints goes to standard error.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from headrace.model.process_group import (
    end_with_this_thread,
    kill_descendants,
    kill_group,
    outlive_stop_signals,
    take_orphans_in,
)

if TYPE_CHECKING:
    from headrace.java.calls import HostStart, Link

JVM_OPTIONS: Final = (
    "-XX:TieredStopAtLevel=1",  # a connector's code is never hot: it touches no data
    "-Xms8m",
    "-Xmx256m",
    "-Xss512k",
    # A JVM without memory is in no known state: the connector fails, and says so, rather than hang.
    "-XX:+ExitOnOutOfMemoryError",
)


def main(link: int) -> None:
    """Run the host in a fork; end, with all that it has started, when standard input is closed."""
    outlive_stop_signals()  # the worker ends connectors itself, in its order
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    take_orphans_in()
    tie = end_with_this_thread()
    host = os.fork()
    if host == 0:
        tie()
        _be_the_host(link)
    os.close(link)  # the worker sees the end of the host by it
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    _, status = os.waitpid(host, 0)
    kill_descendants(os.getpid())
    with suppress(BrokenPipeError):  # the worker has died, and the other thread does the rest
        os.write(1, str(os.waitstatus_to_exitcode(status)).encode())
    while True:
        signal.pause()


def _end_with_the_worker() -> None:
    while os.read(0, 4096):
        pass
    kill_group(os.getpid())


def _be_the_host(descriptor: int) -> None:
    """Serve calls until the worker closes the connection, and exit."""
    status = 1
    try:
        _separate_streams()
        os.set_inheritable(descriptor, False)
        _serve(descriptor)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)  # not in order: threads of Java's may never end


def _separate_streams() -> None:
    """Have what Java prints go to standard error."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)


def _serve(descriptor: int) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from multiprocessing.connection import Connection

    from headrace.java import jvm
    from headrace.java.calls import Calls, Fault, HostUp
    from headrace.java.hosted_connectors import HostedConnectors
    from headrace.model.process_end import exits_reported

    link: Link = Connection(descriptor)
    start: HostStart = link.recv()
    sys.path[:] = start.module_path
    try:
        jvm.start((*JVM_OPTIONS, *start.options))
    except BaseException as error:
        link.send(HostUp(Fault.of(error)))
        return
    link.send(HostUp())
    calls = Calls(link, ThreadPoolExecutor(start.threads, "java-call").submit)
    with exits_reported(calls.report_exit):
        calls.serve(HostedConnectors(start.jars, calls.request))


if __name__ == "__main__":
    main(int(sys.argv[1]))
