# SPDX-License-Identifier: Apache-2.0
"""Schema evolution of columns that differ from file to file. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from headrace.api.errors import ConnectError

ADD: Final = "add"
FAIL: Final = "fail"
IGNORE: Final = "ignore"
_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")
_FLOATS: Final = ("float", "double")
Columns = Sequence[Sequence[str]]
"""Name and type (in Spark's SQL) of each column."""


def evolved(known: str | None, found: Columns, policy: str, file: str) -> str:
    """Return the columns, as JSON, of a file's rows, from those of the files before it and its own.

    Raise ConnectError if `policy` does not allow the difference.
    """
    if known is None:
        return json.dumps(found)
    before, now = _types(json.loads(known)), _types(found)
    new = {name: type for name, type in now.items() if name not in before}
    if policy == FAIL:
        _refuse_difference(before, now, file)
    if policy == IGNORE:
        return known
    wider = {name: _wider(type, now.get(name, type)) for name, type in before.items()}
    return json.dumps([*wider.items(), *new.items()])


def expressions(wanted: Columns, found: Columns) -> list[str]:
    """Return Spark's expressions of the wanted columns over a file's: unchanged, cast to their former type, or null."""
    present = _types(found)

    def column(name: str, type: str) -> str:
        quoted = "`" + name.replace("`", "``") + "`"
        if present.get(name) == type:
            return quoted
        return f"CAST({quoted if name in present else 'NULL'} AS {type}) AS {quoted}"

    return [column(name, type) for name, type in wanted]


def _wider(before: str, now: str) -> str:
    """Return the type that holds the values of both; the former one if there is none, to which Spark has to cast."""
    both = {before, now}
    if both <= set(_INTEGERS):
        return max(both, key=_INTEGERS.index)
    if both <= {*_INTEGERS, *_FLOATS}:
        return before if before == now else _FLOATS[-1]
    return "timestamp" if both == {"date", "timestamp"} else before


def _types(columns: Columns) -> dict[str, str]:
    return {name: type for name, type in columns}


def _refuse_difference(before: Mapping[str, str], now: Mapping[str, str], file: str) -> None:
    differences = [
        *(f"{name} {now[name]} is new" for name in now if name not in before),
        *(f"{name} {before[name]} is missing" for name in before if name not in now),
        *(f"{name} is {now[name]} and was {before[name]}" for name in now if before.get(name, now[name]) != now[name]),
    ]
    if differences:
        raise ConnectError(
            f"File {file} has other columns than the files before it (schema.evolution={FAIL}): "
            f"{'; '.join(differences)}"
        )
