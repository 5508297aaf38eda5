# SPDX-License-Identifier: Apache-2.0
"""A key and its certificates in Python's TLS contexts."""

from __future__ import annotations

import ssl

from headrace.api.errors import ConfigError
from headrace.config.key_stores import Identity
from headrace.config.private_file import file_of


def load_identity(context: ssl.SSLContext, identity: Identity, prefix: str = "") -> None:
    """Have ``context`` show ``identity``. ConfigError, with ``prefix`` before the property, if OpenSSL refuses it.

    Python takes a key from a file alone: one that only this user can read, and gone when this returns.
    """
    with file_of(identity.key + identity.chain) as path:
        try:
            context.load_cert_chain(path, password="")
        except (ssl.SSLError, ValueError) as error:
            name = f"{prefix}ssl.keystore"
            message = f"Invalid configuration {name}: key and certificate cannot be used: {error}"
            raise ConfigError(message, f"{name}.location") from error
