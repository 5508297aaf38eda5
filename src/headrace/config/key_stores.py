# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates of Java's ``ssl.`` properties, as PEM in memory.

PEM, PKCS12 and JKS; as a file, or PEM as the property itself. For Kafka clients, which both take PEM, and for the REST
API. Java: ``DefaultSslEngineFactory``, ``JavaKeyStore.DualFormatJKS``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates, load_pkcs12
from cryptography.x509 import Certificate, load_der_x509_certificate, load_pem_x509_certificates

from headrace.api.errors import ConfigError
from headrace.config.jks import MAGIC, JksStore, WrongPasswordError, read_jks

_TYPES: Final = ("JKS", "PEM", "PKCS12")
_JCEKS: Final = b"\xce\xce\xce\xce"
_BEGIN: Final = b"-----BEGIN "
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_NO_KEY: Final = "there is no private key with certificates in it"


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key, not encrypted, and its certificates, its own one first, in PEM."""

    key: str = field(repr=False)
    chain: str


@dataclass(frozen=True, slots=True)
class _Properties:
    """The ``ssl.`` properties, with the prefix of their names in messages."""

    values: Mapping[str, str]
    prefix: str

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def bad(self, name: str, location: str | None, reason: str) -> ConfigError:
        """Return the error for a property; its value is shown only if it is the path of a file."""
        name = self.prefix + name
        if location is None:
            return ConfigError(f"Invalid configuration {name}: {reason}", name)
        return ConfigError.invalid(name, location, reason)

    def unopened(self, store: str, location: str) -> ConfigError:
        name = f"ssl.{store}.password"
        reason = "does not open" if self.get(name) else "is needed for"
        return self.bad(name, None, f"it {reason} {location}, or the file is damaged")


def read_identity(values: Mapping[str, str], prefix: str = "") -> Identity | None:
    """Return the key and certificates of the ``ssl.keystore.`` properties; None if they are not set.

    Raise ConfigError that names the property, with ``prefix`` before it, and contains no password or key.
    """
    props = _Properties(values, prefix)
    chain, key = props.get("ssl.keystore.certificate.chain"), props.get("ssl.keystore.key")
    location = props.get("ssl.keystore.location")
    if chain or key:
        return _inline_identity(props, chain, key)
    if not location:
        return None
    with _readable(props, "ssl.keystore.location", location):
        data, kind = _store(props, "keystore", location)
        if kind == "PEM":
            text = data.decode(errors="replace")
            return _from_pem(props, text, text, "ssl.keystore.location", location)
        private, certificates = (_pkcs12_key if kind == "PKCS12" else _jks_key)(props, data, location)
        return _identity(props, private, certificates, "ssl.keystore.location", location)


def read_trusted(values: Mapping[str, str], prefix: str = "") -> str | None:
    """Return the trusted certificates of the ``ssl.truststore.`` properties; None if they are not set."""
    props = _Properties(values, prefix)
    text, location = props.get("ssl.truststore.certificates"), props.get("ssl.truststore.location")
    if text:
        if location:
            reason = f"what to trust is given by {prefix}ssl.truststore.certificates already"
            raise props.bad("ssl.truststore.location", location, reason)
        _check_inline_type(props, "truststore")
        return _certificates(props, text, "ssl.truststore.certificates", None)
    if not location:
        return None
    with _readable(props, "ssl.truststore.location", location):
        data, kind = _store(props, "truststore", location)
        if kind == "PEM":
            return _certificates(props, data.decode(errors="replace"), "ssl.truststore.location", location)
        if kind == "PKCS12":
            found = [each.certificate for each in _pkcs12(props, data, "truststore", location).additional_certs]
        else:
            found = list(map(load_der_x509_certificate, _jks(props, data, "truststore", location).trusted))
        if not found:
            raise props.bad("ssl.truststore.location", location, "there is no certificate to trust in it")
        return "".join(map(_text, found))


@contextmanager
def _readable(props: _Properties, name: str, location: str) -> Iterator[None]:
    """Turn the libraries' errors for damaged content into ConfigErrors."""
    try:
        yield
    except (ValueError, TypeError, IndexError, UnsupportedAlgorithm) as error:
        raise props.bad(name, location, f"what is in it cannot be read: {error}") from error


# ---- files, and what is in them


def _store(props: _Properties, store: str, location: str) -> tuple[bytes, str]:
    """Return the file's content and its real type. Java too reads PKCS12 where JKS is configured, and vice versa."""
    name, type_name = f"ssl.{store}.location", f"ssl.{store}.type"
    given = (props.get(type_name) or "").strip().upper()
    if given and given not in _TYPES:
        raise props.bad(type_name, given, f"must be one of {', '.join(_TYPES)}")
    try:
        data = Path(location).read_bytes()
    except OSError as error:
        raise props.bad(name, location, f"the file cannot be read: {error.strerror or error}") from error
    found = _type_of(data)
    if data.startswith(_JCEKS):
        reason = "a store of type JCEKS cannot be read; convert it with keytool -importkeystore to PKCS12"
        raise props.bad(name, location, reason)
    if found is None or (given and (given == "PEM") != (found == "PEM")):
        seen = f"it is {found}" if found else "it is none of them"
        wanted = given or ", ".join(_TYPES)
        raise props.bad(name, location, f"the file cannot be read as {wanted}: {seen}; see {props.prefix}{type_name}")
    return data, found


def _type_of(data: bytes) -> str | None:
    if data.startswith(MAGIC):
        return "JKS"
    if _BEGIN in data:
        return "PEM"
    return "PKCS12" if data[:1] == b"\x30" else None


def _pkcs12(props: _Properties, data: bytes, store: str, location: str) -> PKCS12KeyAndCertificates:
    password = props.get(f"ssl.{store}.password")
    try:
        return load_pkcs12(data, password.encode() if password else None)
    except Exception as error:
        # The library does not distinguish a wrong password from a damaged file.
        raise props.unopened(store, location) from error


def _jks(props: _Properties, data: bytes, store: str, location: str) -> JksStore:
    try:
        return read_jks(data, props.get(f"ssl.{store}.password"))
    except WrongPasswordError as error:
        raise props.unopened(store, location) from error
    except ValueError as error:
        raise props.bad(f"ssl.{store}.location", location, str(error)) from error


def _pkcs12_key(props: _Properties, data: bytes, location: str) -> tuple[Any, list[Certificate]]:
    found = _pkcs12(props, data, "keystore", location)
    certificates = [each.certificate for each in (found.cert, *found.additional_certs) if each]
    if found.key is None or not certificates:
        raise props.bad("ssl.keystore.location", location, _NO_KEY)
    return found.key, certificates


def _jks_key(props: _Properties, data: bytes, location: str) -> tuple[Any, list[Certificate]]:
    store = _jks(props, data, "keystore", location)
    if not store.keys:
        raise props.bad("ssl.keystore.location", location, _NO_KEY)
    own = props.get("ssl.key.password")
    entry, password = store.keys[0], own or props.get("ssl.keystore.password") or ""
    try:
        key = load_der_private_key(entry.private_key(password), None)
    except WrongPasswordError as error:
        name = "ssl.key.password" if own else "ssl.keystore.password"
        raise props.bad(name, None, f"the key in {location} has another password") from error
    except ValueError as error:
        raise props.bad("ssl.keystore.location", location, str(error)) from error
    return key, list(map(load_der_x509_certificate, entry.chain))


# ---- PEM


def _inline_identity(props: _Properties, chain: str | None, key: str | None) -> Identity:
    names = ("ssl.keystore.key", "ssl.keystore.certificate.chain")
    for name, value in zip(names, (key, chain), strict=True):
        if not value:
            both = " and ".join(props.prefix + each for each in names)
            raise ConfigError(f"Missing configuration {props.prefix}{name}: {both} go together", props.prefix + name)
    if location := props.get("ssl.keystore.location"):
        reason = f"the key and its certificates are given by {props.prefix}ssl.keystore.key already"
        raise props.bad("ssl.keystore.location", location, reason)
    _check_inline_type(props, "keystore")
    return _from_pem(props, key or "", chain or "", "ssl.keystore.key", None)


def _check_inline_type(props: _Properties, store: str) -> None:
    given = (props.get(f"ssl.{store}.type") or "PEM").strip()
    if given.upper() != "PEM":
        raise props.bad(f"ssl.{store}.type", given, "what is given as a property is PEM")


def _from_pem(props: _Properties, key: str, chain: str, name: str, location: str | None) -> Identity:
    blocks = [block for kind, block in _blocks(key) if kind.endswith("PRIVATE KEY")]
    if not blocks:
        raise props.bad(name, location, "there is no private key in PEM in it")
    password = props.get("ssl.key.password")
    encrypted = "ENCRYPTED" in blocks[0]
    try:
        private = load_pem_private_key(blocks[0].encode(), password.encode() if password and encrypted else None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        if encrypted:
            reason = "is not the password of" if password else "is needed for"
            whose = location or props.prefix + name
            raise props.bad("ssl.key.password", None, f"it {reason} the key of {whose}") from error
        raise props.bad(name, location, "its private key cannot be read") from error
    where = name if location else "ssl.keystore.certificate.chain"
    return _identity(props, private, _parsed(props, chain, where, location), name, location)


def _certificates(props: _Properties, text: str, name: str, location: str | None) -> str:
    return "".join(map(_text, _parsed(props, text, name, location)))


def _parsed(props: _Properties, text: str, name: str, location: str | None) -> list[Certificate]:
    only = "".join(block for kind, block in _blocks(text) if kind.endswith("CERTIFICATE"))
    try:
        return load_pem_x509_certificates(only.encode())
    except ValueError as error:
        raise props.bad(name, location, "there is no certificate in PEM in it that can be read") from error


def _blocks(text: str) -> list[tuple[str, str]]:
    """Return each block of PEM, which properties often have in one line, as OpenSSL wants it, with its kind."""
    return [(found[1], _block(found[1], found[2])) for found in _BLOCK.finditer(text)]


def _block(kind: str, body: str) -> str:
    if ":" not in body:  # a body with headers keeps its lines
        joined = "".join(body.split())
        body = "\n".join(joined[at : at + 64] for at in range(0, len(joined), 64))
    return f"-----BEGIN {kind}-----\n{body.strip()}\n-----END {kind}-----\n"


# ---- the result


def _identity(
    props: _Properties, key: Any, certificates: list[Certificate], name: str, location: str | None
) -> Identity:
    own = next((each for each in certificates if each.public_key() == key.public_key()), None)
    if own is None:
        raise props.bad(name, location, "none of the certificates is that of the private key")
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Identity(text, "".join(map(_text, _chain(own, certificates))))


def _chain(own: Certificate, certificates: Iterable[Certificate]) -> list[Certificate]:
    """Return ``own`` and its chain of issuers among the others, in TLS's order."""
    chain, rest = [own], [each for each in certificates if each != own]
    while above := next((each for each in rest if each.subject == chain[-1].issuer), None):
        chain.append(above)
        rest.remove(above)
    return chain


def _text(certificate: Certificate) -> str:
    return str(certificate.public_bytes(Encoding.PEM).decode())
