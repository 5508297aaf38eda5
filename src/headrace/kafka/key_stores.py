# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates of Kafka clients, from wherever Java's properties say that they are, as PEM in memory.

PEM, PKCS12 and JKS; as a file, or PEM as the property itself. Both Kafka clients take PEM, so that nothing has to be
converted, and no key is written to a file. Java: ``DefaultSslEngineFactory``, ``JavaKeyStore.DualFormatJKS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

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
from headrace.config.pem import pem_blocks
from headrace.kafka.jks import MAGIC, JksStore, WrongPasswordError, read_jks

_TYPES: Final = ("JKS", "PEM", "PKCS12")
_JCEKS: Final = b"\xce\xce\xce\xce"
_BEGIN: Final = b"-----BEGIN "


@dataclass(frozen=True, slots=True)
class Identity:
    """A client's private key, not encrypted, and its certificates, its own one first: in PEM."""

    key: str = field(repr=False)
    chain: str


def read_identity(props: Mapping[str, str]) -> Identity | None:
    """Return the key and certificates of the ``ssl.keystore.`` properties; None if they say nothing.

    ConfigError that names the property; never with a password or a key in it.
    """
    chain, key = props.get("ssl.keystore.certificate.chain"), props.get("ssl.keystore.key")
    if chain or key:
        return _inline_identity(props, chain, key)
    location = props.get("ssl.keystore.location")
    if not location:
        return None
    data, kind = _store(props, "keystore", location)
    if kind == "PEM":
        text = data.decode(errors="replace")
        return _from_pem(props, text, text, "ssl.keystore.location", location)
    password = props.get("ssl.keystore.password")
    if kind == "PKCS12":
        found = _pkcs12(data, password, "keystore", location)
        key_object, certificates = found.key, [each for each in (found.cert, *found.additional_certs) if each]
        if key_object is None or not certificates:
            raise _keyless(location)
        return _identity(key_object, [each.certificate for each in certificates], "ssl.keystore.location", location)
    return _jks_identity(props, data, location)


def read_trusted(props: Mapping[str, str]) -> str | None:
    """Return the certificates to trust of the ``ssl.truststore.`` properties; None if they say nothing."""
    text = props.get("ssl.truststore.certificates")
    if text:
        _check_inline_type(props, "truststore")
        return _certificates(text, "ssl.truststore.certificates", None)
    location = props.get("ssl.truststore.location")
    if not location:
        return None
    data, kind = _store(props, "truststore", location)
    if kind == "PEM":
        return _certificates(data.decode(errors="replace"), "ssl.truststore.location", location)
    password = props.get("ssl.truststore.password")
    if kind == "PKCS12":
        found = _pkcs12(data, password, "truststore", location).additional_certs
        trusted = "".join(_text(each.certificate) for each in found)
    else:
        trusted = "".join(
            _text(load_der_x509_certificate(each)) for each in _jks(data, password, "truststore", location).trusted
        )
    if not trusted:
        raise ConfigError.invalid("ssl.truststore.location", location, "there is no certificate to trust in it")
    return trusted


# ---- files, and what is in them


def _store(props: Mapping[str, str], store: str, location: str) -> tuple[bytes, str]:
    """The file's content and its true type. Java, too, reads PKCS12 where JKS is said, and the other way round."""
    given = props.get(f"ssl.{store}.type", "").strip().upper()
    if given and given not in _TYPES:
        raise ConfigError.invalid(f"ssl.{store}.type", given, f"must be one of {', '.join(_TYPES)}")
    try:
        data = Path(location).read_bytes()
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        raise ConfigError.invalid(f"ssl.{store}.location", location, reason) from error
    found = _type_of(data)
    if found is None or (given and (given == "PEM") != (found == "PEM")):
        seen = f"it is {found}" if found else "it is none of them"
        wanted = given or ", ".join(_TYPES)
        reason = f"the file cannot be read as {wanted}: {seen}; see ssl.{store}.type"
        if data.startswith(_JCEKS):
            reason = "a store of type JCEKS cannot be read; convert it with keytool -importkeystore to PKCS12"
        raise ConfigError.invalid(f"ssl.{store}.location", location, reason)
    return data, found


def _type_of(data: bytes) -> str | None:
    if data.startswith(MAGIC):
        return "JKS"
    if _BEGIN in data:
        return "PEM"
    return "PKCS12" if data[:1] == b"\x30" else None


def _pkcs12(data: bytes, password: str | None, store: str, location: str) -> PKCS12KeyAndCertificates:
    try:
        return load_pkcs12(data, password.encode() if password else None)
    except Exception as error:
        # The library does not tell a wrong password from a damaged file.
        raise _unopened(store, location, password) from error


def _jks(data: bytes, password: str | None, store: str, location: str) -> JksStore:
    try:
        return read_jks(data, password)
    except WrongPasswordError as error:
        raise _unopened(store, location, password) from error
    except ValueError as error:
        raise ConfigError.invalid(f"ssl.{store}.location", location, str(error)) from error


def _jks_identity(props: Mapping[str, str], data: bytes, location: str) -> Identity:
    password = props.get("ssl.keystore.password")
    store = _jks(data, password, "keystore", location)
    if not store.keys:
        raise _keyless(location)
    entry = store.keys[0]
    try:
        key = load_der_private_key(entry.private_key(props.get("ssl.key.password") or password or ""), None)
    except WrongPasswordError as error:
        name = "ssl.key.password" if props.get("ssl.key.password") else "ssl.keystore.password"
        raise ConfigError(f"Invalid configuration {name}: the key in {location} has another password", name) from error
    except ValueError as error:
        raise ConfigError.invalid("ssl.keystore.location", location, str(error)) from error
    return _identity(key, [load_der_x509_certificate(each) for each in entry.chain], "ssl.keystore.location", location)


# ---- PEM


def _inline_identity(props: Mapping[str, str], chain: str | None, key: str | None) -> Identity:
    for name, value in (("ssl.keystore.key", key), ("ssl.keystore.certificate.chain", chain)):
        if not value:
            both = "ssl.keystore.key and ssl.keystore.certificate.chain go together"
            raise ConfigError(f"Missing configuration {name}: {both}", name)
    if props.get("ssl.keystore.location"):
        reason = "the key and its certificates are given by ssl.keystore.key already"
        raise ConfigError.invalid("ssl.keystore.location", props["ssl.keystore.location"], reason)
    _check_inline_type(props, "keystore")
    return _from_pem(props, key or "", chain or "", "ssl.keystore.key", None)


def _check_inline_type(props: Mapping[str, str], store: str) -> None:
    given = props.get(f"ssl.{store}.type", "PEM").strip()
    if given.upper() != "PEM":
        raise ConfigError.invalid(f"ssl.{store}.type", given, "what is given as a property is PEM")


def _from_pem(props: Mapping[str, str], key: str, chain: str, name: str, location: str | None) -> Identity:
    blocks = [block for kind, block in pem_blocks(key) if kind.endswith("PRIVATE KEY")]
    if not blocks:
        raise _bad(name, location, "there is no private key in PEM in it")
    password = props.get("ssl.key.password")
    encrypted = "ENCRYPTED" in blocks[0]
    try:
        private = load_pem_private_key(blocks[0].encode(), password.encode() if password and encrypted else None)
    except (TypeError, ValueError) as error:
        if encrypted:
            reason = "is not the password of" if password else "is needed for"
            message = f"Invalid configuration ssl.key.password: it {reason} the key of {name}"
            raise ConfigError(message, "ssl.key.password") from error
        raise _bad(name, location, "its private key cannot be read") from error
    where = name if location else "ssl.keystore.certificate.chain"
    return _identity(private, _parsed(chain, where, location), name, location)


def _certificates(text: str, name: str, location: str | None) -> str:
    return "".join(map(_text, _parsed(text, name, location)))


def _parsed(text: str, name: str, location: str | None) -> list[Certificate]:
    only = "".join(block for kind, block in pem_blocks(text) if kind.endswith("CERTIFICATE"))
    try:
        return load_pem_x509_certificates(only.encode())
    except ValueError as error:
        raise _bad(name, location, "there is no certificate in PEM in it that can be read") from error


# ---- what comes of it


def _identity(key: Any, certificates: list[Certificate], name: str, location: str | None) -> Identity:
    own = next((each for each in certificates if each.public_key() == key.public_key()), None)
    if own is None:
        raise _bad(name, location, "none of the certificates is that of the private key")
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Identity(text, "".join(map(_text, _chain(own, certificates))))


def _chain(own: Certificate, certificates: Iterable[Certificate]) -> list[Certificate]:
    """``own`` and whatever of the others leads up from it, in TLS's order."""
    chain, rest = [own], [each for each in certificates if each != own]
    while above := next((each for each in rest if each.subject == chain[-1].issuer), None):
        chain.append(above)
        rest.remove(above)
    return chain


def _text(certificate: Certificate) -> str:
    return str(certificate.public_bytes(Encoding.PEM).decode())


def _bad(name: str, location: str | None, reason: str) -> ConfigError:
    """The value is shown if it is a file's path only."""
    if location is None:
        return ConfigError(f"Invalid configuration {name}: {reason}", name)
    return ConfigError.invalid(name, location, reason)


def _keyless(location: str) -> ConfigError:
    return ConfigError.invalid("ssl.keystore.location", location, "there is no private key with certificates in it")


def _unopened(store: str, location: str, password: str | None) -> ConfigError:
    name = f"ssl.{store}.password"
    reason = "does not open" if password else "is needed for"
    return ConfigError(f"Invalid configuration {name}: it {reason} {location}, or the file is damaged", name)
