# SPDX-License-Identifier: Apache-2.0
"""Files of keys for a moment: Python reads them from files alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_of(text: str) -> Iterator[str]:
    """A path at which this user finds ``text``, and nobody else does. OSError.

    It is in memory where the system has such files: no key is on a disk then, nor has to wait until there is space.
    """
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        with os.fdopen(os.memfd_create("headrace"), "wb", buffering=0) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text.encode())
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.TemporaryDirectory(prefix="headrace-") as directory:  # its mode is 0700
        path = Path(directory) / "private.pem"
        path.write_text(text)
        yield str(path)
