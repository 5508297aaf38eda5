# SPDX-License-Identifier: Apache-2.0
"""Removes secret values from JSON, from text as well as from bytes in base64."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from headrace.api.config_def import HIDDEN
from headrace.api.error_text import hide_at_cuts, left_out

_SHORTEST: Final = 4
"""Characters; shorter values are in any text, and no secrets."""
_END: Final = left_out(0)


class HiddenValues:
    """Replaces values wherever they stand, also within base64. Immutable."""

    def __init__(self, values: Collection[str]) -> None:
        forms = {form for value in values for form in _forms(value) if len(form) >= _SHORTEST}
        self._shown = dict.fromkeys(forms, HIDDEN)
        self._pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None

    def hide(self, value: Any) -> Any:
        """Return JSON without the values."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self._text(self._pattern, value)
        if isinstance(value, Mapping):
            return {self.hide(key): self.hide(each) for key, each in value.items()}
        return [self.hide(each) for each in value] if isinstance(value, list | tuple) else value

    def _text(self, pattern: re.Pattern[str], text: str) -> str:
        if len(text) % 4 == 0:
            try:
                within = base64.b64decode(text, validate=True).decode("utf-8", "surrogateescape")
            except (binascii.Error, ValueError):
                within = ""
            # Of too many bytes only the first are there, without a mark.
            hidden = self._plain(pattern, within + _END).removesuffix(_END)
            if hidden != within:
                return base64.b64encode(hidden.encode("utf-8", "surrogateescape")).decode()
        return self._plain(pattern, text)

    def _plain(self, pattern: re.Pattern[str], text: str) -> str:
        return pattern.sub(HIDDEN, hide_at_cuts(text, self._shown))


def _forms(value: str) -> set[str]:
    """Return the forms in which a value stands in texts and in JSON."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
