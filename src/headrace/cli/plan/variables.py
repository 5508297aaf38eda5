# SPDX-License-Identifier: Apache-2.0
"""Variables in files of connectors: ``$(NAME)`` is the environment's NAME, and ``$$(NAME)`` the text ``$(NAME)``. Pure.

References to config providers, such as ``${env:NAME}``, have other brackets: the worker resolves them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NAME: Final = r"\(([A-Za-z_][A-Za-z0-9_]*)\)"
_VARIABLE: Final = re.compile(rf"\$(\$?){_NAME}")
_PLAIN: Final = re.compile(rf"\${_NAME}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A text with the values of its variables, those ``used`` by name, and those that are ``missing``."""

    text: str
    used: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()


def resolve(text: str, variables: Mapping[str, str]) -> Resolved:
    """Put values in the place of variables. Values are not searched again; missing ones stay as they are written."""
    names = {match[2] for match in _VARIABLE.finditer(text) if not match[1]}

    def value(match: re.Match[str]) -> str:
        return f"$({match[2]})" if match[1] else variables.get(match[2], match[0])

    return Resolved(
        _VARIABLE.sub(value, text), frozenset(names & variables.keys()), frozenset(names - variables.keys())
    )


def escape(text: str) -> str:
    """Return the text for a file: ``resolve`` gives it back."""
    return _PLAIN.sub(lambda match: f"${match[0]}", text)


def variable_name(*parts: str) -> str:
    """Return the name of a variable for a property: ORDERS_DATABASE_PASSWORD."""
    name = _NOT_IN_NAMES.sub("_", "_".join(parts).upper()).strip("_")
    return f"_{name}" if name[:1].isdigit() or not name else name
