# SPDX-License-Identifier: Apache-2.0
"""Files of properties as Java writes them (``java.util.Properties``), in UTF-8 or, failing that, Latin-1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from javaproperties import InvalidUEscapeError, KeyValue, parse

from headrace.api.errors import ConfigError

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


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
    return {key: value for key, value, _ in parse_lines(text)}


def parse_lines(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each key and value with its line, from 1 on. ValueError ("line 3: ...") for a bad escape."""
    line = 1
    try:
        for element in parse(text):
            if isinstance(element, KeyValue):
                yield _whole(element.key), _whole(element.value), line
            line += len(_LINE_END.findall(element.source))
    except InvalidUEscapeError as error:
        raise ValueError(f"line {line}: malformed \\uxxxx escape") from error
    except UnicodeEncodeError as error:
        raise ValueError(f"line {line}: half a surrogate pair in a \\uxxxx escape") from error


def _whole(text: str) -> str:
    """Return the text. UnicodeEncodeError if it has half a surrogate pair, which no file or topic can hold."""
    text.encode()
    return text


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
