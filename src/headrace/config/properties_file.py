# SPDX-License-Identifier: Apache-2.0
"""Files of properties as Java writes them (``java.util.Properties``), in UTF-8 or, failing that, Latin-1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headrace.api.errors import ConfigError

_BLANKS: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_KEY_END: Final = re.compile(r"(?:[^\\ \t\f=:]|\\.)*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: str | Path) -> dict[str, str]:
    """The properties of a file. ConfigError, of one line, if it is missing, unreadable or malformed."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"Properties file {path} cannot be read: {error.strerror or error}") from error
    try:
        return parse_properties(_decode(raw))
    except ValueError as error:
        raise ConfigError(f"Properties file {path}, {error}") from error


def parse_properties(text: str) -> dict[str, str]:
    """The properties of a text; of a repeated key the last one. ValueError ("line 3: ...") for a bad escape."""
    found = {}
    for number, line in _logical_lines(text):
        key = _KEY_END.match(line)
        separator = _SEPARATOR.match(line, key.end() if key else 0)
        assert key is not None and separator is not None  # both patterns match the empty string
        found[_unescape(key[0], number)] = _unescape(line[separator.end() :], number)
    return found


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined, numbered by their first line; comments and blank lines left out."""
    joined: str | None = None
    start = 0
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if joined is None:
            if not line or line[0] in "#!":
                continue
            joined, start = "", number
        joined += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            joined = joined[:-1]
            continue
        yield start, joined
        joined = None
    if joined is not None:
        yield start, joined


def _unescape(text: str, number: int) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code == "u":
            raise ValueError(f"line {number}: malformed \\uxxxx escape")
        return _CONTROL.get(code, code)

    unescaped = _ESCAPE.sub(plain, text)
    if any("\ud800" <= char <= "\udfff" for char in unescaped):  # two escapes may make up one character, as in Java
        try:
            return unescaped.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise ValueError(f"line {number}: half a surrogate pair in a \\uxxxx escape") from error
    return unescaped
