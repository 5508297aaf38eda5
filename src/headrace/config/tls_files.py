# SPDX-License-Identifier: Apache-2.0
"""Short-lived private files, for keys that Python's TLS reads from files only."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.errors import ConfigError

if TYPE_CHECKING:  # the libraries that read key stores are not installed on executors
    from headrace.config.key_stores import Identity


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


def load_identity(context: ssl.SSLContext, identity: Identity, prefix: str = "") -> None:
    """Load ``identity`` into ``context``.

    Raise ConfigError, with ``prefix`` before the property, if OpenSSL refuses it. Python reads a key from a file only:
    it is readable by this user alone, and deleted when this returns.
    """
    with private_file(identity.key + identity.chain) as path:
        try:
            context.load_cert_chain(path, password="")
        except (ssl.SSLError, ValueError) as error:
            name = f"{prefix}ssl.keystore"
            message = f"Invalid configuration {name}: key and certificate cannot be used: {error}"
            raise ConfigError(message, f"{name}.location") from error
