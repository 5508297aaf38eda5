# SPDX-License-Identifier: Apache-2.0
"""Java's classes and properties of characters, as contents of sets of the library `regex`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

VERTICAL: Final = r"\n\x0b\f\r\x85\u2028\u2029"
CLASSES: Final[Mapping[str, str]] = {
    "d": "0-9",
    "w": "a-zA-Z0-9_",
    "s": r" \t\n\x0b\f\r",
    "h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": VERTICAL,
}
"""By the escape that stands for it; the same letter in upper case stands for all else."""

_POSIX: Final[Mapping[str, str]] = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": r"!-~",
    "Print": r" -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": CLASSES["s"],
    "L1": r"\x00-\xff",
    "all": r"\x00-\U0010ffff",
}
_UNICODE: Final[Mapping[str, str]] = {
    "LC": r"\p{LC}",
    "LD": r"\p{L}\p{Nd}",
    "isalphabetic": r"\p{Alphabetic}",
    "isletter": r"\p{L}",
    "isdigit": r"\p{Nd}",
    "islowercase": r"\p{Lowercase}",
    "isuppercase": r"\p{Uppercase}",
    "istitlecase": r"\p{Lt}",
    "ispunctuation": r"\p{P}",
    "iscontrol": r"\p{Cc}",
    "iswhite_space": r"\p{Z}\t\n\x0b\f\r\x85",
    "iswhitespace": r"\p{Z}\t\n\x0b\f\r\x85",
    "isassigned": r"\P{Cn}",
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaLetter": r"\p{L}",
    "javaDigit": r"\p{Nd}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
    "javaLowerCase": r"\p{Lowercase}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaTitleCase": r"\p{Lt}",
    "javaSpaceChar": r"\p{Z}",
    "javaWhitespace": r"[\p{Z}--[\xa0\u2007\u202f]]\t\n\x0b\f\r\x1c-\x1f",
    "javaISOControl": r"\p{Cc}",
}
IN_ANY_CASE: Final[Mapping[str, str]] = {
    "a-z": "a-zA-Z",
    "A-Z": "a-zA-Z",
    **dict.fromkeys((r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\p{Uppercase}", r"\p{Lowercase}"), r"\p{LC}"),
}
"""The content of properties under the flag `i`."""

_CATEGORY: Final = re.compile(
    r"(?:(?i:gc|general_category)=)?(?i:is)?(L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?)"
)


class SetSyntaxError(ValueError):
    """No such property, or none that is supported."""


def property_set(name: str) -> str:
    """Return the content of the set for a property as it stands in `\\p{..}`. SetSyntaxError if there is none."""
    if category := _CATEGORY.fullmatch(name):
        return rf"\p{{{category[1]}}}"
    content = _POSIX.get(name) or _UNICODE.get(name) or _UNICODE.get(name.lower())
    if content is None:
        raise SetSyntaxError(f"The character property {{{name}}} is unknown or not supported")
    return content


__all__ = ["CLASSES", "IN_ANY_CASE", "VERTICAL", "SetSyntaxError", "property_set"]
