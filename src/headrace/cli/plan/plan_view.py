# SPDX-License-Identifier: Apache-2.0
"""A plan for people and for programs. Pure: it has no secrets any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from headrace.cli.plan.differences import Action, Change, Plan, PropertyChange

_SIGNS: Final = {Action.CREATE: "+", Action.UPDATE: "~", Action.DELETE: "-"}
_ENDINGS: Final = {Action.CREATE: "is created", Action.UPDATE: "is changed", Action.DELETE: "is deleted"}
_STATE: Final = "(state)"


def lines(plan: Plan) -> Iterator[str]:
    """Yield the lines of the text: what happens to each connector, warnings, and a summary."""
    for change in plan.to_do:
        yield from _lines(change)
        yield ""
    for warning in plan.warnings:
        yield f"Warning: {warning}"
    yield summary(plan)


def summary(plan: Plan) -> str:
    if not plan.to_do:
        return f"No changes: {_connectors(len(plan.changes))} as in the files."
    counts = [f"{plan.count(action)} to {word}" for action, word in _WORDS.items()]
    return f"Plan: {', '.join(counts)}, {plan.count(Action.NONE)} without changes."


_WORDS: Final = {Action.CREATE: "create", Action.UPDATE: "change", Action.DELETE: "delete"}


def data(plan: Plan) -> dict[str, Any]:
    """Return the plan for ``-o json``."""
    return {
        "changes": [change_data(change) for change in plan.changes],
        "summary": {action.value: plan.count(action) for action in Action},
        "warnings": list(plan.warnings),
    }


def change_data(change: Change) -> dict[str, Any]:
    """Return one connector's change for JSON."""
    old, new = _states(change)
    return {
        "name": change.name,
        "action": change.action.value,
        "properties": [{"name": each.name, "old": each.old, "new": each.new} for each in change.properties],
        "state": {"old": old, "new": new},
        "effects": list(change.effects),
    }


def _connectors(count: int) -> str:
    return "the connector is" if count == 1 else f"{count} connectors are"


def _lines(change: Change) -> Iterator[str]:
    where = ""
    if change.desired is not None:
        where = f"  ({change.desired.file}"
        where += ")" if change.desired.line is None else f":{change.desired.line})"
    yield f"{_SIGNS[change.action]} {change.name} {_ENDINGS[change.action]}{where}"
    shown = [*change.properties]
    old, new = _states(change)
    if new is not None and old != new and change.action is not Action.DELETE:
        shown.append(PropertyChange(_STATE, old, new))
    width = max((len(each.name) for each in shown), default=0)
    for each in shown:
        yield f"    {each.name.ljust(width)}  {_values(each)}"
    for effect in change.effects:
        yield f"    {effect}"


def _states(change: Change) -> tuple[str | None, str | None]:
    old = change.current.state.value if change.current is not None else None
    return old, None if change.action is Action.DELETE else change.goal.value


def _values(change: PropertyChange) -> str:
    if change.old is None:
        return change.new if change.new is not None else "null"
    return f"{change.old} → {'(removed)' if change.new is None else change.new}"


def applied(plan: Plan, unhealthy: int) -> str:
    """Return the summary of an apply; ``unhealthy`` is the number of connectors that are not as planned."""
    counts = [f"{plan.count(action)} {word}" for action, word in _DONE.items()]
    kept = sum(change.action is not Action.DELETE for change in plan.changes)
    return f"Applied: {', '.join(counts)}. {kept - unhealthy} of {_connectors_text(kept)} as planned and healthy."


_DONE: Final = {Action.CREATE: "created", Action.UPDATE: "changed", Action.DELETE: "deleted"}


def _connectors_text(count: int) -> str:
    return "1 connector is" if count == 1 else f"{count} connectors are"
