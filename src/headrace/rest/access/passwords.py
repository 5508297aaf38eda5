# SPDX-License-Identifier: Apache-2.0
"""Basic authentication (RFC 7617) by a properties file, with passwords in clear or hashed by bcrypt or PBKDF2."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import Scope

from headrace.api.errors import ConfigError
from headrace.config.access_config import BASIC, CREDENTIALS_FILE
from headrace.config.properties_file import read_properties
from headrace.rest.access.authentication import Principal, RefusedCredentialsError
from headrace.rest.watched_files import WatchedFiles

_BCRYPT: Final = re.compile(r"\$2[abxy]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}")
_PBKDF2: Final = re.compile(r"\$pbkdf2-sha256\$(\d{4,8})\$([./A-Za-z0-9]{11,})\$([./A-Za-z0-9]{43})")
"""Rounds, salt and hash in passlib's form, which is available in FIPS mode."""
_BCRYPT_SECONDS: Final = 5e-5
"""Seconds per unit of work; the cost in the hash is its binary logarithm."""
_ROUND_SECONDS: Final = 5e-7
"""Seconds per round of PBKDF2."""
_CONCURRENT_HASHES: Final = 2
"""Passwords hashed at the same time: each takes a core for a tenth of a second, on purpose."""
_REMEMBERED: Final = 1000


def read_users(path: str) -> dict[str, str]:
    """Return the passwords of a file by user. Raise ConfigError if it is unreadable, or lacks users or a password."""
    try:
        users = read_properties(path)
    except ConfigError as error:
        raise ConfigError.invalid(CREDENTIALS_FILE, path, str(error)) from error
    if not users or not all(name and password for name, password in users.items()):
        reason = "the file has no user" if not users else "each user there needs a name and a password"
        raise ConfigError.invalid(CREDENTIALS_FILE, path, reason)
    return users


def basic_credentials(authorization: str) -> tuple[str, str] | None:
    """Return user and password of the header, None for another scheme. Raise ValueError if it is malformed."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    if not colon:
        raise ValueError("there is no colon")
    return name, password


def same_password(given: str, stored: str) -> bool:
    """Compare in a time that depends neither on the common prefix nor on the lengths."""
    return hmac.compare_digest(_digest(given), _digest(stored))


def _digest(password: str) -> bytes:
    return hashlib.sha256(password.encode()).digest()


class Passwords:
    """Basic authentication by a file that is read again when it changes. Belongs to the server's event loop.

    Verified passwords are cached, by a keyed hash, until the file changes: clients send them with each request.
    """

    scheme: Final = 'Basic realm="headrace", charset="UTF-8"'

    def __init__(self, path: str | None) -> None:
        """Read the file. Raise ConfigError if there is none, or no users in it."""
        if not path:
            raise ConfigError.invalid(CREDENTIALS_FILE, path, "rest.authentication=basic needs a file of user=password")
        self._file = WatchedFiles([path], lambda: _read(path))
        self._key = secrets.token_bytes(32)
        self._users: Mapping[str, str] = {}
        self._verified: set[bytes] = set()
        self._hashing: asyncio.Semaphore | None = None

    async def authenticate(self, scope: Scope) -> Principal | None:
        """Return the user, None without Basic credentials. Raise RefusedCredentialsError for wrong ones."""
        try:
            given = basic_credentials(Headers(scope=scope).get("authorization", ""))
        except ValueError as error:
            raise RefusedCredentialsError("Basic credentials that are not Base64 of user:password") from error
        if given is None:
            return None
        name, password = given
        if not await self._verify(name, password):
            raise RefusedCredentialsError(f"wrong user or password, as user {name!r:.100}")
        return Principal(name, method=BASIC)

    async def _verify(self, name: str, password: str) -> bool:
        users = self._file.get()
        if users is not self._users:
            self._users = users
            self._verified.clear()
        mark = hmac.digest(self._key, f"{name}:{password}".encode(), "sha256")
        if mark in self._verified:
            return True
        if not await self._verify_in_constant_time(name, password, users):
            return False
        if len(self._verified) >= _REMEMBERED:
            self._verified.clear()
        self._verified.add(mark)
        return True

    async def _verify_in_constant_time(self, name: str, password: str, users: Mapping[str, str]) -> bool:
        """Take as long as the costliest hash, for known and unknown users: the time must not reveal which exist."""
        costliest = max(users.values(), key=_cost)
        stored = users.get(name, costliest)
        right = await self._compare(password, stored) and name in users
        if _cost(stored) < _cost(costliest):
            await self._compare(password, costliest)
        return right

    async def _compare(self, password: str, stored: str) -> bool:
        if not _is_hash(stored):
            return same_password(password, stored)
        if self._hashing is None:
            self._hashing = asyncio.Semaphore(_CONCURRENT_HASHES)
        async with self._hashing:
            return await asyncio.to_thread(_matches, password, stored)


def _read(path: str) -> dict[str, str]:
    users = read_users(path)
    hashed = [name for name, stored in users.items() if stored.startswith("$")]
    for name in hashed:
        if not _is_hash(users[name]):
            reason = f"the password of {name} begins with $ and is no hash of bcrypt's or PBKDF2's"
            raise ConfigError.invalid(CREDENTIALS_FILE, path, reason)
    if any(_BCRYPT.fullmatch(users[name]) for name in hashed):
        _bcrypt()
    return users


def _cost(stored: str) -> float:
    """Return the approximate seconds of a comparison; 0 for a password in clear."""
    if found := _BCRYPT.fullmatch(stored):
        return _BCRYPT_SECONDS * 2.0 ** int(found[1])
    return _ROUND_SECONDS * int(found[1]) if (found := _PBKDF2.fullmatch(stored)) else 0.0


def _is_hash(stored: str) -> bool:
    found = _PBKDF2.fullmatch(stored)
    # The length of Base64 is never one more than a multiple of four.
    return bool(_BCRYPT.fullmatch(stored) or (found and len(found[2]) % 4 != 1))


def _matches(password: str, stored: str) -> bool:
    if found := _PBKDF2.fullmatch(stored):
        salt, right = _bytes(found[2]), _bytes(found[3])
        return hmac.compare_digest(hashlib.pbkdf2_hmac("sha256", password.encode(), salt, int(found[1])), right)
    # Bcrypt uses 72 bytes, and this library refuses more.
    return bool(_bcrypt().checkpw(password.encode()[:72], stored.replace("$2y$", "$2b$", 1).encode()))


def _bytes(text: str) -> bytes:
    """Decode Base64 without padding and with a dot for the plus."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"./")


def _bcrypt() -> Any:
    try:
        import bcrypt
    except ImportError as error:
        reason = "hashed passwords need bcrypt: install headrace with the extra 'auth'"
        raise ConfigError(f"{CREDENTIALS_FILE}: {reason}", CREDENTIALS_FILE) from error
    return bcrypt
