# SPDX-License-Identifier: Apache-2.0
"""A key and its certificates in Python's TLS contexts."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

from headrace.api.errors import ConfigError
from headrace.config.key_stores import Identity


def load_identity(context: ssl.SSLContext, identity: Identity, prefix: str = "") -> None:
    """Have ``context`` show ``identity``. ConfigError, with ``prefix`` before the property, if OpenSSL refuses it.

    Python takes a key from a file alone: one that only this user can read, and gone when this returns.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-") as directory:  # its mode is 0700
        path = Path(directory) / "identity.pem"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(identity.key + identity.chain)
        try:
            context.load_cert_chain(path, password="")
        except (ssl.SSLError, ValueError) as error:
            name = f"{prefix}ssl.keystore"
            message = f"Invalid configuration {name}: key and certificate cannot be used: {error}"
            raise ConfigError(message, f"{name}.location") from error
