# SPDX-License-Identifier: Apache-2.0
"""Numbers of the health of connectors and tasks as short texts for tables. Pure; None is "-"."""

from __future__ import annotations

from typing import Final

from headrace.cli.ctl.statuses import NONE, Json

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_AGES: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def age_text(ms: float | None) -> str:
    """Return a time in its largest whole unit: "42 s", "3 min"."""
    if ms is None:
        return NONE
    unit, name = next(((unit, name) for unit, name in _AGES if ms >= unit), (1, "ms"))
    return f"{ms // unit:.0f} {name}"


def rate_text(per_second: float | None) -> str:
    """Return a rate with one decimal below 100."""
    if per_second is None:
        return NONE
    return f"{per_second:,.1f}" if 0 < per_second < 100 else f"{per_second:,.0f}"


def bytes_text(count: float | None) -> str:
    """Return a number of bytes in a unit in which it is below 1,024."""
    if count is None:
        return NONE
    power = 0
    while count >= 1024 and power < len(_UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{count:,.0f} {_UNITS[power]}" if power == 0 else f"{count:,.1f} {_UNITS[power]}"


def count_text(count: int | None) -> str:
    return NONE if count is None else f"{count:,}"


def lag_text(amount: int | None, unit: str | None) -> str:
    """Return a lag; records, the usual unit, are not named."""
    if amount is None or unit is None:
        return NONE
    return bytes_text(amount) if unit == "bytes" else f"{amount:,}" if unit == "records" else f"{amount:,} {unit}"


def lag_of(task: Json) -> tuple[int, str] | None:
    """Return the lag in the health of a task, with its unit."""
    lag = task.get("lag")
    return None if lag is None else (lag[lag["unit"]], lag["unit"])
