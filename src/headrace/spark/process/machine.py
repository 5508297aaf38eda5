# SPDX-License-Identifier: Apache-2.0
"""The identity of a machine, within which a pid names one process."""

from __future__ import annotations

import functools
import os
import socket
from contextlib import suppress
from pathlib import Path


@functools.cache
def this_machine() -> str:
    """Return a text that is the same in all processes for which a pid means the same process, and in no others.

    A host's name alone may be another machine's too, or that of a container with pids of its own.
    """
    parts = [socket.gethostname()]
    with suppress(OSError):  # where there is no /proc
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text().strip(), os.readlink("/proc/self/ns/pid")]
    return " ".join(parts)
