# SPDX-License-Identifier: Apache-2.0
"""Who a request is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Principal:
    """A user as proved by ``method``: one of ``rest.authentication``, or ``extension``, or ``none``."""

    name: str
    groups: frozenset[str] = frozenset()
    method: str = "none"


ANONYMOUS: Final = Principal("anonymous")
"""Where nobody is asked."""


class RefusedCredentialsError(Exception):
    """Credentials that are there and are not good. The message is for the log, not for the one who sent them."""


class UndecidedCredentialsError(RefusedCredentialsError):
    """Credentials that may be good, but not as things are now. It is no failure of the one who sent them."""
