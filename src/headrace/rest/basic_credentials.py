# SPDX-License-Identifier: Apache-2.0
"""User and password, as a properties file has them and as HTTP sends them (RFC 7617)."""

from __future__ import annotations

import base64
import hashlib
import hmac

from headrace.api.errors import ConfigError
from headrace.config.access_config import CREDENTIALS_FILE
from headrace.config.properties_file import read_properties


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
