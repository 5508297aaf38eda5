# SPDX-License-Identifier: Apache-2.0
"""A key and its certificates in Python's TLS contexts."""

from __future__ import annotations

import ssl

from headrace.api.errors import ConfigError
from headrace.config.key_stores import Identity
from headrace.config.private_file import private_file


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
