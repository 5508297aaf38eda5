# SPDX-License-Identifier: Apache-2.0
"""Cipher suites by Java's names, or OpenSSL's, in Python's TLS contexts."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Final

_TLS_1_3: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
_ALL_1_3: Final = ", ".join(sorted(_TLS_1_3))


def restrict_suites(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """Restrict ``context`` to these suites, and to the versions of TLS that have one of them, as in Java.

    Raise ValueError, with the remedy, if one is unknown or Python cannot restrict it.
    """
    newest = _TLS_1_3.intersection(names)
    older = [name for name in names if name not in _TLS_1_3]
    if newest and newest != _TLS_1_3 and context.maximum_version is ssl.TLSVersion.TLSv1_3:
        raise ValueError(f"Python cannot leave out single suites of TLS 1.3: name all of {_ALL_1_3}, or none of them")
    if not newest:
        _bound(context, context.minimum_version, ssl.TLSVersion.TLSv1_2)
    if not older:
        _bound(context, ssl.TLSVersion.TLSv1_3, context.maximum_version)
    else:
        context.set_ciphers(":".join(map(_checked_name, older)))


def _bound(context: ssl.SSLContext, lowest: ssl.TLSVersion, highest: ssl.TLSVersion) -> None:
    if lowest > highest:
        raise ValueError("none of the enabled versions of TLS has one of them")
    context.minimum_version, context.maximum_version = lowest, highest


def _checked_name(name: str) -> str:
    """Return OpenSSL's name, which may be one of its lists. Raise ValueError if unknown: OpenSSL skips it in lists."""
    own = openssl_name(name)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(own)
    except ssl.SSLError:
        raise ValueError(f"OpenSSL has no suite '{name}'") from None
    return own


def openssl_name(name: str) -> str:
    """Return OpenSSL's name of a suite of TLS 1.2: of Java's ``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256``, or as it is."""
    exchange, found, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not found:
        return name
    cipher = cipher.replace("AES_", "AES").replace("_CBC", "").replace("POLY1305_SHA256", "POLY1305")
    parts = [*([] if exchange == "RSA" else exchange.split("_")), *cipher.split("_")]
    return "-".join(parts)
