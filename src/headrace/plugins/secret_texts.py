# SPDX-License-Identifier: Apache-2.0
"""Secrets in texts about a connector: its secret values, and parts with a secret's shape. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Final

from headrace.api.error_text import hide_at_cuts
from headrace.config.secret_properties import REFERENCE, is_reference, is_secret_name
from headrace.model.cluster_config_state import Config
from headrace.plugins.secret_options import secret_values

HIDDEN: Final = "[hidden]"
_PAIR: Final = re.compile(
    r"(?i)(?:pass(?:word|wd|phrase)?|secret|token|pwd|sig|(?:account|access|api|shared)[._-]?key)\s*=\s*\"?([^\"\s;&,]*)"
)
_LOGIN: Final = re.compile(r"://[^/@\s:]*:([^@\s]+)@")
_LONG_LOGIN: Final = re.compile(r"://[^/@\s:]*:(\S+)@")
"""For a password with an @ in it."""
_HEADER: Final = re.compile(r"(?i)^\s*(?:bearer|basic)\s+(\S+)")
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----([^-]*)")
_SHAPES: Final = (_PAIR, _LOGIN, _LONG_LOGIN, _HEADER, _PEM)
_REFERENCE_MARK: Final = 0xF0000
"""The first of the characters that stand for references, whose own characters would be separators."""
_SHORTEST: Final = 4
"""Shortest value that is masked in texts: shorter ones are in any text, and no secrets."""


def secrets_of(config: Config, passwords: Set[str]) -> list[str]:
    """Return the values that must be masked everywhere, and their secret parts, the longest first."""
    hidden = {text for name, text in config.items() if text and is_hidden(name, text, passwords)}
    found = {each.strip() for text in hidden for each in (text, *_parts(text))} | secret_values(config)
    return longest_first(found)


def longest_first(texts: Iterable[str]) -> list[str]:
    """Return the secrets that are long enough to be masked in texts, in the order in which to do so."""
    return sorted((text for text in texts if len(text) >= _SHORTEST), key=len, reverse=True)


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text that have a secret's shape. References show where a secret is, and are none."""
    references = dict(enumerate(REFERENCE.findall(text), _REFERENCE_MARK))
    marks = iter(references)
    marked = REFERENCE.sub(lambda _: chr(next(marks)), text)
    found = (part.translate(references) for shape in _SHAPES for part in shape.findall(marked))
    yield from (part for part in found if not is_reference(part))


def is_hidden(name: str, text: str, passwords: Set[str]) -> bool:
    """Return True for a secret; references to config providers are none."""
    if is_reference(text):
        return False
    return name in passwords or is_secret_name(name) or any(_parts(text)) or bool(secret_values({name: text}))


def mask_text(text: str, secrets: Collection[str]) -> str:
    """Mask the secrets, and parts with a secret's shape, as of a value that a config provider has supplied."""
    text = hide_at_cuts(text, dict.fromkeys(secrets, HIDDEN))
    for secret in (*secrets, *(part for part in _parts(text) if len(part) >= _SHORTEST)):
        text = text.replace(secret, HIDDEN)
    return text
