# SPDX-License-Identifier: Apache-2.0
"""A log filter that replaces the values of config providers by their references."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Final

from headrace.api.error_text import hide_at_cuts
from headrace.logs.formats import message_of, trace_of
from headrace.plugins.secret_texts import longest_first

_SHORTEST: Final = 6
"""Characters; shorter values occur in too many unrelated lines."""
_MOST: Final = 10_000
"""The number of values to keep, the newest ones: rotated secrets no longer matter."""


class HidingFilter(logging.Filter):
    """A filter for handlers, since a logger's filter does not see the lines of loggers below it. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._references: dict[str, str] = {}

    def add(self, references: Mapping[str, str]) -> None:
        """Replace secrets (the keys of the mapping) by their references (its values) from now on."""
        with self._lock:
            for value, reference in references.items():
                for text in {value, value.strip()}:
                    if len(text) >= _SHORTEST:
                        self._references.pop(text, None)
                        self._references[text] = reference
            for text in list(self._references)[:-_MOST]:
                del self._references[text]

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace secrets in a record's text; never drop a record."""
        with self._lock:
            references = dict(self._references)
        if not references:
            return True
        record.exc_text, record.stack_info = trace_of(record), None
        message = message_of(record)
        hidden = _hide(message, references)
        if hidden != message:
            record.msg, record.args = hidden, None
        if record.exc_text:
            record.exc_text = _hide(record.exc_text, references)
        return True


def _hide(text: str, references: Mapping[str, str]) -> str:
    text = hide_at_cuts(text, references)
    # A shorter value first would leave the rest of a longer one that contains it.
    for value in longest_first(value for value in references if value in text):
        text = text.replace(value, references[value])
    return text


LOG_FILTER: Final = HidingFilter()
"""The filter of this process; every ``ConfigTransformer`` adds to it."""
