# SPDX-License-Identifier: Apache-2.0
"""Whether two processes see each other by their pids."""

from __future__ import annotations

import functools
import os
import socket
from contextlib import suppress
from pathlib import Path


@functools.cache
def this_machine() -> str:
    """The same text in all processes for which a pid means the same process, and in no others.

    A host's name alone may be that of another machine's, or of a container's whose pids are its own.
    """
    parts = [socket.gethostname()]
    with suppress(OSError):  # where there is no /proc
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text().strip(), os.readlink("/proc/self/ns/pid")]
    return " ".join(parts)
