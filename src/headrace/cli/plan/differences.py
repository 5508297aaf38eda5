# SPDX-License-Identifier: Apache-2.0
"""The changes that make a cluster's connectors like those of files. Pure; values are as they may be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from headrace.cli.ctl.statuses import Goal
from headrace.cli.plan.cluster_state import Current
from headrace.cli.plan.desired_connectors import Desired
from headrace.config.connector_config import NAME

HIDDEN: Final = "[hidden]"
"""Stands for a secret, in headrace's answers and here."""

Config = Mapping[str, str | None]
Mask = Callable[[str, str], str]
"""Returns a property's value as it may be shown, of the property's name and value."""
Offsets = Sequence[Mapping[str, Any]]


class Action(Enum):
    """The kinds of changes."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """A property's former and new value, as they may be shown; None where it has none."""

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one connector, from ``current`` to ``desired``; at least one of them is there.

    ``properties`` and ``effects`` are for people. ``config`` is what is to be written, None for no new configuration;
    ``state`` the state to be requested, None for no request.
    """

    name: str
    action: Action
    current: Current | None = None
    desired: Desired | None = None
    properties: tuple[PropertyChange, ...] = ()
    config: Config | None = None
    state: Goal | None = None
    effects: tuple[str, ...] = ()
    """Sentences on tasks that restart, and on offsets."""

    @property
    def goal(self) -> Goal:
        """The state of the connector after the change."""
        if self.action is Action.DELETE:
            return Goal.GONE
        return self.state or (self.current.state if self.current else Goal.RUNNING)


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of all connectors of the files, in their order, and of those that are pruned."""

    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()

    @property
    def to_do(self) -> tuple[Change, ...]:
        """The changes that change something."""
        return tuple(change for change in self.changes if change.action is not Action.NONE)

    def count(self, action: Action) -> int:
        return sum(change.action is action for change in self.changes)


def change_of(desired: Desired, current: Current | None, mask: Mask) -> Change:
    """Return the change for a connector of a file, without its effects."""
    if current is None:
        shown = tuple(
            PropertyChange(key, None, mask(key, text or "")) for key, text in desired.config.items() if key != NAME
        )
        state = desired.state or desired.initial_state
        return Change(desired.name, Action.CREATE, None, desired, shown, desired.config, state)
    changed = tuple(property_changes(current.config, desired.config, mask))
    state = desired.state if desired.state not in (None, current.state) else None
    action = Action.UPDATE if changed or state else Action.NONE
    return Change(
        desired.name, action, current, desired, changed, desired.config if changed else None, state
    )  # fmt: skip


def pruned(current: Mapping[str, Current], wanted: Sequence[Desired], label: str | None) -> Iterator[Change]:
    """Yield the deletion of each connector that has the label and is in no file; none without a label."""
    names = {desired.name for desired in wanted}
    for name, connector in current.items():
        if label is not None and label in connector.labels and name not in names:
            yield Change(name, Action.DELETE, connector)


def property_changes(current: Config, desired: Config, mask: Mask) -> Iterator[PropertyChange]:
    """Yield the properties that differ, by name.

    A value that the cluster shows masked, to a user who may not see it, counts as equal where its mask is.
    """
    for key in sorted(current.keys() | desired.keys()):
        old, new = current.get(key), desired.get(key)
        if old == new and (key in current) is (key in desired):
            continue
        shown_old, shown_new = (None if text is None else mask(key, text) for text in (old, new))
        if old is not None and HIDDEN in old and old == shown_new:
            continue
        yield PropertyChange(key, shown_old, shown_new)
