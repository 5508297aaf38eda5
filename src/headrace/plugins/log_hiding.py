# SPDX-License-Identifier: Apache-2.0
"""Keeps the values that config providers hand out from the log: lines show the references instead."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Final

from headrace.logs.records import message_of, trace_of

_SHORTEST: Final = 6
"""Characters; shorter values stand in too many lines that have nothing to do with them."""
_MOST: Final = 10_000
"""Values that are remembered, the newest ones: rotated secrets stop to matter."""


class HidingFilter(logging.Filter):
    """For a handler: a filter of a logger sees nothing of the loggers below it. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._references: dict[str, str] = {}

    def add(self, references: Mapping[str, str]) -> None:
        """From now on shows the references (values of the mapping) where a line has one of the values (its keys)."""
        with self._lock:
            for value, reference in references.items():
                for text in {value, value.strip()}:
                    if len(text) >= _SHORTEST:
                        self._references.pop(text, None)
                        self._references[text] = reference
            for text in list(self._references)[:-_MOST]:
                del self._references[text]

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a record."""
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
    for value in references:
        if value in text:
            text = text.replace(value, references[value])
    return text


HIDING: Final = HidingFilter()
"""The process's one, as the log is: every ``ConfigTransformer`` adds to it."""
