# SPDX-License-Identifier: Apache-2.0
"""The screen of `headrace connectors describe`: all there is to know of a connector. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.ctl.fitting_table import Column, fitting_table
from headrace.cli.ctl.output import table_of
from headrace.cli.ctl.statuses import (
    NONE,
    Json,
    age_text,
    bytes_text,
    count_text,
    lag_of,
    lag_text,
    parts,
    rate_text,
    reason,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

_HEALTHY: Final = "healthy"


@dataclass(frozen=True, slots=True)
class Described:
    """The answers about a connector.

    ``health`` is None of Java's workers, ``topics`` where they are not tracked, ``config`` unless it is to be shown;
    its secrets are masked. ``now_ms`` is the time in milliseconds since the epoch.
    """

    name: str
    connector_class: str | None
    status: Json
    now_ms: int
    health: Json | None = None
    topics: list[str] | None = None
    config: Mapping[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """The connector or one of its tasks, with its status and its health."""

    name: str
    status: Json
    health: Json


def render(described: Described, width: int) -> RenderableType:
    """Return the screen for a terminal of ``width`` columns."""
    from rich.console import Group
    from rich.text import Text

    judged = dict(parts(described.health)) if described.health else {}
    found = [Part(name, status, judged.get(name, {})) for name, status in parts(described.status)]
    sections: list[RenderableType] = [table_of(("", ""), list(_facts(described)))]
    sections += [Text(""), fitting_table(_COLUMNS, found, width)]
    for part in found:
        if troubles := list(_troubles(part, (described.health or {}).get("why") or "")):
            sections += [Text(""), Text(part.name.capitalize(), style="bold"), table_of(("", ""), troubles)]
    if described.config is not None:
        rows = [(key, "" if text is None else text) for key, text in sorted(described.config.items())]
        sections += [Text(""), table_of(("PROPERTY", "VALUE"), rows)]
    return Group(*sections)


def _facts(described: Described) -> Iterator[tuple[str, str]]:
    health = described.health
    yield "Name", described.name
    yield "Class", described.connector_class or NONE
    yield "Type", described.status.get("type") or NONE
    if health:
        yield "Verdict", health.get("verdict") or NONE
        yield "Why", health.get("why") or NONE
        if restarts := _automatic(health["connector"].get("auto_restart"), described.now_ms):
            yield "Restarts", restarts
    if described.topics is not None:
        yield "Topics", ", ".join(described.topics) or NONE


def _automatic(restart: Json | None, now_ms: int) -> str | None:
    """Return what is known of a connector's automatic restarts, None if it has none."""
    if restart is None or restart["policy"] == "none":
        return None
    text = f"automatic ({restart['policy']}), {restart['attempts']} of {restart['max_attempts']} in a row"
    if restart["gave_up"]:
        return f"{text}; given up: {restart['reason'] or 'no reason is known'}"
    due = restart["next_attempt_ms"]
    return text if due is None else f"{text}, the next in {age_text(max(0, due - now_ms))}"


def _stage(part: Part) -> str:
    stage, since = part.health.get("stage"), part.health.get("stage_since")
    return NONE if stage is None else f"{stage} for {age_text(since)}"


def _counted(part: Part, of: str, key: str) -> str:
    return count_text((part.health.get(of) or {}).get(key))


def _lag(part: Part) -> str:
    return lag_text(*(lag_of(part.health) or (None, None)))


_COLUMNS: Final[tuple[Column[Part], ...]] = (
    Column("PART", 0, lambda part: part.name),
    Column("STATE", 1, lambda part: part.status.get("state") or NONE),
    Column("HEALTH", 2, lambda part: part.health.get("verdict") or NONE),
    Column("STAGE", 3, _stage),
    Column("RECORDS/S", 4, lambda part: rate_text(part.health.get("records_per_second")), is_number=True),
    Column("BYTES/S", 9, lambda part: bytes_text(part.health.get("bytes_per_second")), is_number=True),
    Column("LAG", 5, _lag, is_number=True),
    Column("COMMIT", 7, lambda part: age_text(part.health.get("last_commit")), is_number=True),
    Column("ERRORS", 10, lambda part: _counted(part, "errors", "errors"), is_number=True),
    Column("RETRIES", 11, lambda part: _counted(part, "errors", "retries"), is_number=True),
    Column("RESTARTS", 8, lambda part: _counted(part, "restarts", "count"), is_number=True),
    Column("WORKER", 6, lambda part: part.status.get("worker_id") or NONE),
)


def _troubles(part: Part, said: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a part, with labels; nothing if nothing is known to be. ``said`` is not repeated."""
    why = part.health.get("why")
    if why is None and part.status.get("trace"):
        yield "  Reason", reason(part.status["trace"])
    elif why is not None and part.health.get("verdict") != _HEALTHY and why not in said:
        yield "  Why", why
    error = part.health.get("last_error")
    if error is not None:
        yield "  Error", f"{error['class']}: {error['message']}"
        yield "  When", _when(error, part.health.get("next_attempt"))
        if error["record"] is not None:
            yield "  Record", json.dumps(error["record"], ensure_ascii=False)
        if error["hint"]:
            yield "  Hint", error["hint"]
    if (part.health.get("errors") or {}).get("dead_letters") or (part.health.get("errors") or {}).get("skipped"):
        errors = part.health["errors"]
        yield "  Records", f"{errors['skipped']:,} skipped, {errors['dead_letters']:,} for the dead letter topic"
    restarts = part.health.get("restarts") or {}
    if restarts.get("reason"):
        yield "  Restarted", f"{restarts['count']:,} times, the last time because: {restarts['reason']}"


def _when(error: Json, next_attempt: int | None) -> str:
    again = "" if next_attempt is None else f", the next attempt in {age_text(next_attempt)}"
    return f"{age_text(error['age'])} ago while {error['stage']}, {error['handling']}{again}"


def masked(config: Mapping[str, str | None], passwords: frozenset[str] | None) -> dict[str, Any]:
    """Return a configuration without secrets.

    ``passwords`` are the properties of type PASSWORD; if it is None, all values may be secrets.
    """
    # Slow to import, and seldom needed.
    from headrace.plugins.secret_texts import secrets_of
    from headrace.rest.access.hidden_secrets import Secrets

    known = Secrets.all_of(config) if passwords is None else Secrets(passwords, secrets_of(config, passwords))
    return {name: text and known.masked(name, text) for name, text in config.items()}
