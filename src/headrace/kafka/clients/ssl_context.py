# SPDX-License-Identifier: Apache-2.0
"""An ``ssl.SSLContext`` from Java's properties, for kafka-python and for token endpoints."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from headrace.config.key_stores import read_identity, read_trusted
from headrace.config.tls_files import load_identity


def client_context(props: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context with the trust store of the ``ssl.`` properties, or the machine's if they name none.

    ConfigError, naming the property, for a store that cannot be read.
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
        load_identity(context, identity)
    if props.get("ssl.endpoint.identification.algorithm", "https") in ("", "none"):
        context.check_hostname = False
    if props.get("enable.ssl.certificate.verification", "true").strip().lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
