# SPDX-License-Identifier: Apache-2.0
"""Short-lived private files, for keys that Python reads from files only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_file(text: str) -> Iterator[str]:
    """Write ``text`` to a file that only this user can read, and delete it at the end. Raises OSError.

    The file is in memory where the system supports that, so that no key is on a disk, and a full disk does not matter.
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
