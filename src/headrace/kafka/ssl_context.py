# SPDX-License-Identifier: Apache-2.0
"""Python's idea of a TLS client, by Java's properties: for kafka-python and for token endpoints."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headrace.api.errors import ConfigError
from headrace.kafka.key_stores import Identity, read_identity, read_trusted


def client_context(props: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that trusts what the ``ssl.`` properties say, or what the machine trusts if they say nothing.

    ConfigError that names the property.
    """
    # Not ``create_default_context``, which is stricter from Python 3.13 on than the other clients are.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusted = read_trusted(props)
    if trusted is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cadata=trusted)
    identity = read_identity(props)
    if identity is not None:
        _load(context, identity)
    if props.get("ssl.endpoint.identification.algorithm", "https") in ("", "none"):
        context.check_hostname = False
    if props.get("enable.ssl.certificate.verification", "true").strip().lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _load(context: ssl.SSLContext, identity: Identity) -> None:
    """Python takes a key from a file alone: one that only this user can read, and gone when this returns."""
    with tempfile.TemporaryDirectory(prefix="headrace-") as directory:  # its mode is 0700
        path = Path(directory) / "client.pem"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(identity.key + identity.chain)
        try:
            context.load_cert_chain(path, password="")
        except (ssl.SSLError, ValueError) as error:
            message = f"Invalid configuration ssl.keystore: key and certificate cannot be used: {error}"
            raise ConfigError(message, "ssl.keystore.location") from error
