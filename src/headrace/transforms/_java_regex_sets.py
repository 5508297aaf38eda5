# SPDX-License-Identifier: Apache-2.0
"""The character properties of Java's regular expressions, as the content of a set of Python's."""

from __future__ import annotations

import functools
import itertools
import sys
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

_POSIX: Final[Mapping[str, str]] = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
    "L1": r"\x00-\xff",
    "all": r"\s\S",
}


def _has_category(*categories: str) -> Callable[[str], bool]:
    return lambda char: unicodedata.category(char).startswith(categories)


_is_letter: Final = _has_category("L")
_is_alphabetic: Final = _has_category("L", "Nl")
_is_white: Final = _has_category("Z")
_TESTS: Final[Mapping[str, Callable[[str], bool]]] = {
    "LC": _has_category("Lu", "Ll", "Lt"),
    "LD": _has_category("L", "Nd"),
    "isalphabetic": _is_alphabetic,
    "isletter": _is_letter,
    "isdigit": _has_category("Nd"),
    "islowercase": str.islower,
    "isuppercase": str.isupper,
    "istitlecase": _has_category("Lt"),
    "ispunctuation": _has_category("P"),
    "iscontrol": _has_category("Cc"),
    "iswhite_space": lambda char: _is_white(char) or char in "\t\n\x0b\f\r\x85",
    "isassigned": lambda char: unicodedata.category(char) != "Cn",
    "javaAlphabetic": _is_alphabetic,
    "javaLetter": _is_letter,
    "javaDigit": _has_category("Nd"),
    "javaLetterOrDigit": _has_category("L", "Nd"),
    "javaLowerCase": str.islower,
    "javaUpperCase": str.isupper,
    "javaTitleCase": _has_category("Lt"),
    "javaSpaceChar": _is_white,
    "javaWhitespace": lambda char: (
        (_is_white(char) and char not in "\xa0\u2007\u202f") or char in "\t\n\x0b\f\r\x1c\x1d\x1e\x1f"
    ),
    "javaISOControl": _has_category("Cc"),
}
_CATEGORIES: Final = frozenset(unicodedata.category(chr(code)) for code in range(0x3000)) | {*"LMNZCPS", "Cs", "Co"}

_EMPTY: Final = ("Cn", "Co", "Cs")
"""The categories of most codes: none of them is the code of a character with properties of its own."""


class SetSyntaxError(ValueError):
    """No such property, or none that Python's tables tell."""


@functools.cache
def property_set(name: str) -> str:
    """The content of the set for a property as it stands in `\\p{..}`. SetSyntaxError if it cannot be told.

    Tables are made when first asked for, which takes some tenths of a second.
    """
    if name in _POSIX:
        return _POSIX[name]
    _, _, category = name.rpartition("=")
    if category != name and name.split("=")[0].lower() not in ("gc", "general_category"):
        raise SetSyntaxError(f"The character property {{{name}}} is not supported")
    bare = category[2:] if category.lower().startswith("is") else category
    if bare in _CATEGORIES:
        return _ranges(_has_category(bare))
    test = _TESTS.get(name) or _TESTS.get(name.lower().replace("whitespace", "white_space"))
    if test is None:
        raise SetSyntaxError(f"The character property {{{name}}} is unknown or not supported")
    return _ranges(test)


def _ranges(test: Callable[[str], bool]) -> str:
    parts: list[str] = []
    start: int | None = None
    end = 0
    for first, end, uniform in _runs():
        for code in [first] if uniform else range(first, end):
            inside = test(chr(code))
            if inside and start is None:
                start = code
            elif not inside and start is not None:
                parts.append(f"\\U{start:08x}-\\U{code - 1:08x}")
                start = None
    if start is not None:
        parts.append(f"\\U{start:08x}-\\U{end - 1:08x}")
    return "".join(parts)


@functools.cache
def _runs() -> list[tuple[int, int, bool]]:
    """All characters as ranges without their ends; those of a uniform one have all the same properties."""
    runs = []
    first = 0
    for category, codes in itertools.groupby(range(sys.maxunicode + 1), lambda code: unicodedata.category(chr(code))):
        end = first + sum(1 for _ in codes)
        runs.append((first, end, category in _EMPTY))
        first = end
    return runs


__all__ = ["SetSyntaxError", "property_set"]
