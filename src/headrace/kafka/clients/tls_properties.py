# SPDX-License-Identifier: Apache-2.0
"""Java's TLS properties in librdkafka's terms, and as an ``ssl.SSLContext`` for kafka-python and token endpoints.

Java: ``SslConfigs``.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError

_LIBRDKAFKA_STORES: Final = {
    "ssl.ca.location": "ssl.truststore.certificates",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.location": "ssl.keystore.certificate.chain",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.location": "ssl.keystore.key",
    "ssl.key.pem": "ssl.keystore.key",
}


def librdkafka_tls(props: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's settings of stores and host name checks. Reads keys."""
    return {**_stores(props), **_host_name_check(props)}


def kafka_python_tls(props: Mapping[str, str]) -> ssl.SSLContext:
    """Return kafka-python's context, as ``client_context``; keys may also have librdkafka's names."""
    return client_context(_as_java(props))


def client_context(props: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context with the trust store of the ``ssl.`` properties, or the machine's if they name none.

    ConfigError, naming the property, for a store that cannot be read.
    """
    # Imported only where TLS is used: executors need not have the libraries.
    from headrace.config.key_stores import read_identity, read_trusted
    from headrace.config.tls_files import load_identity

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


def _stores(props: Mapping[str, str]) -> dict[str, str]:
    if not props.get("security.protocol", "PLAINTEXT").upper().endswith("SSL"):
        return {}
    # As in `client_context`.
    from headrace.config.key_stores import read_identity, read_trusted

    result = {}
    trusted, identity = read_trusted(props), read_identity(props)
    if trusted is not None:
        result["ssl.ca.pem"] = trusted
    if identity is not None:
        result |= {"ssl.certificate.pem": identity.chain, "ssl.key.pem": identity.key}
    return result


def _host_name_check(props: Mapping[str, str]) -> dict[str, str]:
    name = "ssl.endpoint.identification.algorithm"
    return {name: props[name] or "none"} if name in props else {}


def _as_java(props: Mapping[str, str]) -> dict[str, str]:
    """Return ``props`` with librdkafka's names of keys and certificates replaced by Java's, for kafka-python."""
    result = dict(props)
    for name, java in _LIBRDKAFKA_STORES.items():
        if name in props:
            result.setdefault(java, _read(name, props[name]) if name.endswith(".location") else props[name])
    return result


def _read(name: str, location: str) -> str:
    try:
        return Path(location).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError.invalid(name, location, f"the file cannot be read: {error}") from error
