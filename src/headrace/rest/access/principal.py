# SPDX-License-Identifier: Apache-2.0
"""The user of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Principal:
    """A user authenticated by ``method``: one of ``rest.authentication``, or ``extension``, or ``none``."""

    name: str
    groups: frozenset[str] = frozenset()
    method: str = "none"


ANONYMOUS: Final = Principal("anonymous")
"""The user where authentication is off."""


class RefusedCredentialsError(Exception):
    """Credentials that are present and invalid. The message is for the log, not for the client."""


class UndecidedCredentialsError(RefusedCredentialsError):
    """Credentials that cannot be checked now. It does not count as the client's failed login."""
