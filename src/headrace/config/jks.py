# SPDX-License-Identifier: Apache-2.0
"""Java's keystores of type JKS. The format has not changed since Java 1.2. Java: ``JavaKeyStore``, ``KeyProtector``."""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"\xfe\xed\xfe\xed"
_SALT_OF_DIGEST: Final = b"Mighty Aphrodite"
_DIGEST_SIZE: Final = 20
_KEY_ENTRY, _CERTIFICATE_ENTRY = 1, 2
# The one algorithm by which JKS protects keys, as an ASN.1 AlgorithmIdentifier (1.3.6.1.4.1.42.2.17.1.1).
_PROTECTOR: Final = bytes.fromhex("300e060a2b060104012a021101010500")


class WrongPasswordError(Exception):
    """The password of the store, or of a key in it, is wrong."""


@dataclass(frozen=True, slots=True)
class JksKey:
    """A private key, encrypted by a password, and its certificates in DER, the key's own one first."""

    protected: bytes
    chain: tuple[bytes, ...]

    def private_key(self, password: str) -> bytes:
        """Return the key in DER (PKCS#8). Raise WrongPasswordError if the password is wrong."""
        at = self.protected.find(_PROTECTOR)
        if at < 0:
            raise ValueError("a key in it is protected by an algorithm that JKS does not have")
        content = _octets(self.protected[at + len(_PROTECTOR) :])
        salt, encrypted, check = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:-_DIGEST_SIZE], content[-_DIGEST_SIZE:]
        secret = password.encode("utf-16-be")
        plain = _xor(encrypted, _key_stream(secret, salt, len(encrypted)))
        if not hmac.compare_digest(_sha1(secret + plain), check):
            raise WrongPasswordError
        return plain


@dataclass(frozen=True, slots=True)
class JksStore:
    """The content of a store: keys with their certificates, and trusted certificates, each in DER."""

    keys: tuple[JksKey, ...]
    trusted: tuple[bytes, ...]


def read_jks(data: bytes, password: str | None) -> JksStore:
    """Return the content of the store ``data``. Without a password its integrity is not checked, as in Java.

    Raise WrongPasswordError if the password is wrong, ValueError if this is no store of type JKS.
    """
    body, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    if password is not None:
        expected = _sha1(password.encode("utf-16-be") + _SALT_OF_DIGEST + body)
        if not hmac.compare_digest(expected, digest):
            raise WrongPasswordError
    try:
        return _entries(_Reader(body))
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError("it is cut off or damaged") from error


class _Reader:
    """A reader of the format of Java's ``DataInputStream``."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, code: str = ">I") -> int:
        (value,) = struct.unpack_from(code, self._data, self._at)
        self._at += struct.calcsize(code)
        return int(value)

    def bytes(self, length: int) -> bytes:
        if self._at + length > len(self._data):
            raise struct.error
        self._at += length
        return self._data[self._at - length : self._at]

    def text(self) -> str:
        return self.bytes(self.number(">H")).decode(errors="replace")


def _entries(reader: _Reader) -> JksStore:
    if reader.bytes(len(MAGIC)) != MAGIC:
        raise ValueError("it is no keystore of type JKS")
    version = reader.number()
    keys: list[JksKey] = []
    trusted: list[bytes] = []
    for _ in range(reader.number()):
        kind = reader.number()
        reader.text()  # the alias
        reader.number(">Q")  # the time of creation
        if kind == _KEY_ENTRY:
            protected = reader.bytes(reader.number())
            keys.append(JksKey(protected, tuple(_certificate(reader, version) for _ in range(reader.number()))))
        elif kind == _CERTIFICATE_ENTRY:
            trusted.append(_certificate(reader, version))
        else:
            raise ValueError(f"it has an entry of the unknown kind {kind}")
    return JksStore(tuple(keys), tuple(trusted))


def _certificate(reader: _Reader, version: int) -> bytes:
    if version > 1:
        reader.text()  # the kind of certificate, always X.509
    return reader.bytes(reader.number())


def _octets(der: bytes) -> bytes:
    """Return the content of an ASN.1 OCTET STRING that extends to the end."""
    length_bytes = der[1] & 0x7F if der[1] & 0x80 else 0
    return der[2 + length_bytes :]


def _key_stream(secret: bytes, salt: bytes, length: int) -> bytes:
    stream, block = b"", salt
    while len(stream) < length:
        block = _sha1(secret + block)
        stream += block
    return stream[:length]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()
