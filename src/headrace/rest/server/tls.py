# SPDX-License-Identifier: Apache-2.0
"""TLS of the REST API, by the properties of Kafka's clients. Java: ``SSLUtils``, KIP-651."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.api.config_def import ConfigDef, Importance, Password, Type
from headrace.api.errors import ConfigError
from headrace.api.validators import ValidList, ValidString

LISTENERS_PREFIX: Final = "listeners.https."
ADMIN_PREFIX: Final = "admin.listeners.https."
_KEYSTORE: Final = "ssl.keystore."
_TRUSTSTORE: Final = "ssl.truststore."
_CLIENT_AUTH: Final = "ssl.client.auth"
_PROTOCOLS: Final = "ssl.enabled.protocols"
_SUITES: Final = "ssl.cipher.suites"
_IDENTIFICATION: Final = "ssl.endpoint.identification.algorithm"
_VERIFY_MODES: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}

_TLS_1_3: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
_ALL_1_3: Final = ", ".join(sorted(_TLS_1_3))


def _prefix(raw: Mapping[str, str], prefix: str) -> str:
    """Return the prefix if any property has it, else none: all or nothing. Java: ``valuesWithPrefixAllOrNothing``."""
    return prefix if any(name.startswith(prefix) for name in raw) else ""


def calls_https(raw: Mapping[str, str]) -> bool:
    """Return True if a worker without https itself is to call workers with https."""
    prefix = _prefix(raw, LISTENERS_PREFIX)
    # Without the prefix it may be the Kafka clients' truststore only, which may not even exist.
    given = ("type",) if not prefix else ("type", "location", "certificates")
    values = [raw.get(prefix + _TRUSTSTORE + name, "") for name in given]
    return values[0].upper() == "PEM" or any(values[1:])


class TlsProperties:
    """The ``ssl.*`` properties of one kind of listener, parsed."""

    def __init__(self, raw: Mapping[str, str], prefix: str = "") -> None:
        """Parse the properties; files are read later. Raise ConfigError for invalid values."""
        self._prefix = _prefix(raw, prefix)
        self._values = _definition(self._prefix).parse(raw)

    def files(self) -> list[str]:
        """Return the files that the contexts are made from."""
        return [path for store in (_KEYSTORE, _TRUSTSTORE) if (path := self._get(store + "location"))]

    def server_context(self) -> ssl.SSLContext:
        """Make a context for listeners. Raise ConfigError without a key and its certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if not self._load_identity(context):
            name = self._prefix + _KEYSTORE + "location"
            raise ConfigError.invalid(name, None, "an https listener needs a file with a key and its certificate")
        self._restrict(context)
        context.verify_mode = _VERIFY_MODES[self._get(_CLIENT_AUTH)]
        if context.verify_mode != ssl.CERT_NONE and not self._load_trusted(context):
            name = self._prefix + _TRUSTSTORE + "location"
            raise ConfigError.invalid(name, None, f"{self._prefix}{_CLIENT_AUTH} needs a file of whom to trust")
        return context

    def client_context(self) -> ssl.SSLContext:
        """Make a context for calls to other workers; by default with the machine's trust store."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._load_identity(context)
        self._restrict(context)
        if not self._load_trusted(context):
            context.load_default_certs()
        context.check_hostname = bool(self._get(_IDENTIFICATION))
        return context

    def _get(self, name: str) -> Any:
        value = self._values[self._prefix + name]
        return value.value if isinstance(value, Password) else value

    def _stores(self) -> dict[str, str]:
        """Return the given properties of keys and certificates, by their names without the prefix."""
        return {name: value for name in _STORES if (value := self._get(name))}

    def _restrict(self, context: ssl.SSLContext) -> None:
        versions = [_VERSIONS[name] for name in self._get(_PROTOCOLS)]
        context.minimum_version, context.maximum_version = min(versions), max(versions)
        if suites := self._get(_SUITES):
            try:
                restrict_suites(context, suites)
            except ValueError as error:
                raise ConfigError.invalid(self._prefix + _SUITES, ",".join(suites), str(error)) from error

    def _load_identity(self, context: ssl.SSLContext) -> bool:
        """Load key and certificates; return False if none are given."""
        # Imported here: only workers with TLS need it.
        from headrace.config.key_stores import read_identity
        from headrace.config.tls_files import load_identity

        identity = read_identity(self._stores(), self._prefix)
        if identity is not None:
            load_identity(context, identity, self._prefix)
        return identity is not None

    def _load_trusted(self, context: ssl.SSLContext) -> bool:
        """Load the trusted certificates; return False if none are given."""
        from headrace.config.key_stores import read_trusted

        trusted = read_trusted(self._stores(), self._prefix)
        if trusted is not None:
            context.load_verify_locations(cadata=trusted)
        return trusted is not None


_STORES: Final = (
    *(_KEYSTORE + name for name in ("type", "location", "password", "key", "certificate.chain")),
    *(_TRUSTSTORE + name for name in ("type", "location", "password", "certificates")),
    "ssl.key.password",
)


def _definition(prefix: str) -> ConfigDef:
    low = Importance.LOW
    # fmt: off
    return (
        ConfigDef()
        .define(f"{prefix}{_KEYSTORE}type", Type.STRING, None, importance=low,
                doc="PEM, PKCS12 or JKS; by default detected from the file.")
        .define(f"{prefix}{_KEYSTORE}location", Type.STRING, None, importance=low,
                doc="File with the private key and the certificates of the worker.")
        .define(f"{prefix}{_KEYSTORE}password", Type.PASSWORD, None, importance=low,
                doc="Password of a PKCS12 or JKS file.")
        .define(f"{prefix}{_KEYSTORE}certificate.chain", Type.PASSWORD, None, importance=low,
                doc="The certificates as PEM text, instead of a file.")
        .define(f"{prefix}{_KEYSTORE}key", Type.PASSWORD, None, importance=low,
                doc="The private key as PEM text, instead of a file.")
        .define(f"{prefix}ssl.key.password", Type.PASSWORD, None, importance=low,
                doc="Password of an encrypted private key, or of a key in a JKS file if it differs from the file's.")
        .define(f"{prefix}{_TRUSTSTORE}type", Type.STRING, None, importance=low,
                doc="PEM, PKCS12 or JKS; by default detected from the file.")
        .define(f"{prefix}{_TRUSTSTORE}location", Type.STRING, None, importance=low,
                doc="File with the certificates of trusted authorities.")
        .define(f"{prefix}{_TRUSTSTORE}password", Type.PASSWORD, None, importance=low,
                doc="Password of a PKCS12 or JKS file.")
        .define(f"{prefix}{_TRUSTSTORE}certificates", Type.PASSWORD, None, importance=low,
                doc="The trusted certificates as PEM text, instead of a file.")
        .define(f"{prefix}{_CLIENT_AUTH}", Type.STRING, "none", importance=low, validator=ValidString(*_VERIFY_MODES),
                doc="Whether clients need a certificate: required, requested or none.")
        .define(f"{prefix}{_PROTOCOLS}", Type.LIST, "TLSv1.2,TLSv1.3", importance=low,
                validator=ValidList(*_VERSIONS, allow_empty=False), doc="Versions of TLS.")
        .define(f"{prefix}{_SUITES}", Type.LIST, [], importance=low,
                doc="Cipher suites, with Java's names or OpenSSL's; by default those of OpenSSL.")
        .define(f"{prefix}{_IDENTIFICATION}", Type.STRING, "https", importance=low,
                doc="Empty: another worker's host name need not match its certificate.")
    )


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
