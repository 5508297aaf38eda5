# SPDX-License-Identifier: Apache-2.0
"""The logger ``headrace.audit``: a line for each change, with who, what and the result.

A line is ``audit who=emil worker=host:8083 what="PUT /connectors/c/pause" … result=202``: names and values, of which
those that are not one plain word are in quotes. So no name or message can forge a field or a line. Pure, but for
``write``; any thread.
"""

from __future__ import annotations

import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final

from headrace.api.error_text import clean_text
from headrace.logs.formats import escaped
from headrace.model.ids import ConnectorTaskId

AUDIT: Final = "headrace.audit"
LEADER: Final = "leader"
ENGINE: Final = "engine"
FILE: Final = "file"
"""The names of what causes changes without a request: the leader, a worker with its engine, a standalone one's file."""

log = logging.getLogger(AUDIT)

Config = Mapping[str, str | None]

_PLAIN: Final = re.compile(r'[^\s"=\\]+')
"""Of a field's value; ``_WORD`` and ``_TEXT`` are the same for names and values within one."""
_WORD: Final = re.compile(r'[^\s"\\,;:→]+')
_TEXT: Final = re.compile(r'(?! )[^";→\\]+(?<! )')
_CONNECTOR: Final = re.compile(
    r'audit (?:\w+=(?:[^\s"=\\]+|"(?:[^"\\]|\\.)*") )*?connector=([^\s"=\\]+|"(?:[^"\\]|\\.)*")(?: |$)'
)
"""Matches behind whole fields only: the text of another field can quote anything."""
_FIELD: Final = re.compile(r'(\w+)=([^\s"=\\]+|"(?:[^"\\]|\\.)*")')
_LINE: Final = re.compile(rf"audit(?: {_FIELD.pattern})+")
_CUT: Final = re.compile(r"… \([0-9]+ more\)$")
_LONGEST_VALUE: Final = 100
_MOST_PROPERTIES: Final = 50
_MOST_LISTED: Final = 12
_MOST_RANGES: Final = 3
"""Ranges of one connector's task numbers; a connector with more of them is listed by its number of tasks."""


def write(fields: Mapping[str, str | None], *, always: bool = False) -> None:
    """Log a line with the fields that are not None; ``always``: also while the logger is off.

    A line that cannot be written is lost, as every line of the log: the change is done by then.
    """
    if always or is_on():
        record = log.makeRecord(AUDIT, logging.INFO, "", 0, "%s", (line(fields),), None)
        record.connector_context = ""  # the line names the connector itself
        log.handle(record)


def write_own(
    who: str,
    worker: str,
    what: str,
    *,
    connector: str | None = None,
    change: str | None = None,
    reason: str | None = None,
    failed: bool = False,
) -> None:
    """Log a change that no request has asked this worker for; ``who`` is LEADER, ENGINE or FILE.

    ``connector`` is the one that it is about. ``reason`` may have more lines, as a stack trace: the first one is
    logged.
    """
    fields = {
        "who": who,
        "worker": worker,
        "what": what,
        "connector": connector and cut(connector),
        "change": change,
        "result": "failed" if failed else "done",
        "reason": reason and cut(reason.strip().partition("\n")[0], 2 * _LONGEST_VALUE),
    }
    write(fields)


def is_on() -> bool:
    """Return True if the lines are logged."""
    return log.isEnabledFor(logging.INFO)


def line(fields: Mapping[str, str | None]) -> str:
    """Return the fields that are not None as one line."""
    return " ".join(["audit", *(f"{name}={quoted(text)}" for name, text in fields.items() if text is not None)])


def fields_of(line: str) -> dict[str, str] | None:
    """Return the fields of a line that ``line`` has made; None for any other text."""
    if not _LINE.fullmatch(line):
        return None
    return {name: _unquoted(text) for name, text in _FIELD.findall(line.removeprefix("audit "))}


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:  # with an escape that is none of JSON's, for a character that is not to be printed
        return text[1:-1]


def is_cut(text: str) -> bool:
    """Return True if ``cut`` may have left out a part of the text."""
    return _CUT.search(text) is not None


def connector_of(line: str) -> str | None:
    """Return a line's field ``connector`` as it is written there, or None."""
    found = _CONNECTOR.match(line)
    return found[1] if found else None


def quoted_connector(name: str) -> str:
    """Return what ``connector_of`` returns for lines about this connector."""
    return quoted(cut(name))


def quoted(text: str, plain: re.Pattern[str] = _PLAIN) -> str:
    """Return a text as it is if it is ``plain`` and printable, else as a JSON string without control characters."""
    if plain.fullmatch(text) and text.replace(" ", "").isprintable():
        return text
    return escaped(json.dumps(clean_text(text), ensure_ascii=False))


def cut(text: str, longest: int = _LONGEST_VALUE) -> str:
    """Return at most ``longest`` characters of a text, and how many are left out."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more)"


def counted(number: int, what: str) -> str:
    """Return a number with its noun: ``1 task``, ``2 tasks``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


# ---- connectors and tasks


def work_text(connectors: Iterable[str], tasks: Iterable[ConnectorTaskId]) -> str:
    """Return connectors and tasks in one short text: ``c, c-0..c-499``; with counts if there are too many to list."""
    of_connector: dict[str, list[int]] = defaultdict(list)
    for task in tasks:
        of_connector[task.connector].append(task.task)
    names = set(connectors)
    parts: list[str] = []
    for name in sorted(names | of_connector.keys()):
        parts += [_word(name)] if name in names else []
        parts += _ranges(cut(name), sorted(of_connector.get(name, ())))
        if len(parts) > _MOST_LISTED:
            break
    if len(parts) > _MOST_LISTED:
        tasks_in_all = counted(sum(map(len, of_connector.values())), "task")
        parts = [*parts[:_MOST_LISTED], f"… (in all {counted(len(names), 'connector')} and {tasks_in_all})"]
    return ", ".join(parts) or "nothing"


def _ranges(name: str, numbers: list[int]) -> list[str]:
    """Return task ids: each, or in ranges, or, if these are too many, as one number of tasks."""
    ids = [quoted(f"{name}-{number}", _WORD) for number in numbers]
    if len(ids) <= _MOST_RANGES:
        return ids
    breaks = [at for at, (one, other) in enumerate(pairwise(numbers), 1) if other != one + 1]
    if len(breaks) >= _MOST_RANGES and len(ids) > _MOST_LISTED:
        return [f"{len(ids)} of {ids[0]}..{ids[-1]}"]
    bounds = zip([0, *breaks], [*breaks, len(ids)], strict=True)
    return [ids[start] if end == start + 1 else f"{ids[start]}..{ids[end - 1]}" for start, end in bounds]


# ---- differences


def difference(before: Config, after: Config, shown: Callable[[str, str], str]) -> str:
    """Return the properties that were added, removed and changed: ``+topic: t; -batch.size; tasks.max: 1 → 2``.

    ``shown`` returns a property's value with secrets masked; a change that it hides is ``changed``.
    """
    parts = []
    for key in sorted(before.keys() | after.keys()):
        old, new = (None if text is None else shown(key, text) for text in (before.get(key), after.get(key)))
        if key not in before:
            parts.append(f"+{_word(key)}: {_value(new)}")
        elif key not in after:
            parts.append(f"-{_word(key)}")
        elif before[key] != after[key]:
            parts.append(f"{_word(key)}: {'changed' if old == new else f'{_value(old)} → {_value(new)}'}")
    if len(parts) > _MOST_PROPERTIES:
        parts = [*parts[:_MOST_PROPERTIES], f"… ({len(parts) - _MOST_PROPERTIES} more)"]
    return "; ".join(parts) or "nothing"


def _word(text: str) -> str:
    return quoted(cut(text), _WORD)


def _value(text: str | None) -> str:
    return "null" if text is None else quoted(cut(text), _TEXT)
