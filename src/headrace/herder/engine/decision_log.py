# SPDX-License-Identifier: Apache-2.0
"""The herder's decisions in the log, at DEBUG: each event with the actions that follow from it, in a line.

Of events and actions only names and numbers are shown: configurations and keys are secrets.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Final

from headrace.herder.core.herder_actions import HerderAction
from headrace.herder.core.herder_events import HerderEvent
from headrace.model.ids import ConnectorTaskId

log = logging.getLogger(__name__)
_SHOWN: Final = ("number", "generation", "connector", "name", "id", "ids", "connectors", "tasks")
"""Fields that hold ids, names and numbers, where they are of `_PLAIN` types or sequences of them."""
_PLAIN: Final = (str, int, ConnectorTaskId)
_MOST: Final = 10


def log_decision(event: HerderEvent, actions: Sequence[HerderAction]) -> None:
    """Log what was decided; an event without consequences is not logged. On the herder's thread."""
    if actions and log.isEnabledFor(logging.DEBUG):
        counted = Counter(map(shown, actions))
        decided = [text if count == 1 else f"{count} times {text}" for text, count in counted.items()]
        log.debug("%s: %s", shown(event), _listed(decided, "; "))


def shown(value: object) -> str:
    """Return the type's name, with the fields that identify what it is about, and the write that it is for."""
    fields = ((name, getattr(value, name, None)) for name in _SHOWN)
    texts = [f"{name}={text}" for name, field in fields if (text := _text(field))]
    if (write := getattr(value, "write", None)) is not None:
        texts.append(shown(write))
    return f"{type(value).__name__}({', '.join(texts)})" if texts else type(value).__name__


def _text(field: object) -> str:
    if isinstance(field, _PLAIN):
        return str(field)
    if not isinstance(field, (tuple, frozenset)) or not all(isinstance(each, _PLAIN) for each in field):
        return ""
    each = sorted(map(str, field)) if isinstance(field, frozenset) else list(map(str, field))
    return _listed(each, " ")


def _listed(texts: Sequence[str], separator: str) -> str:
    more = f"{separator}and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return separator.join(texts[:_MOST]) + more
