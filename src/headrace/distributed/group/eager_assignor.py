# SPDX-License-Identifier: Apache-2.0
"""Assignment in the eager protocol: all members give up all work before a round, which distributes it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle

from headrace.distributed.group.assignors import Change, LeaderMemory, Member, Round, Share, share_of
from headrace.model.ids import ConnectorTaskId


def assign_eagerly(members: Mapping[str, Member], work: Share) -> Round:
    """Assign the connectors round-robin, then the tasks. Java: ``EagerAssignor``.

    All connectors come before all tasks, because with one task for each connector an even number of members would
    otherwise give half of them nothing but connectors.
    """
    connectors: dict[str, list[str]] = {member: [] for member in members}
    tasks: dict[str, list[ConnectorTaskId]] = {member: [] for member in members}
    turns = cycle(sorted(members))
    for connector in sorted(work.connectors):
        connectors[next(turns)].append(connector)
    for task in sorted(work.tasks):
        tasks[next(turns)].append(task)
    shares = {member: share_of(connectors[member], tasks[member]) for member in members}
    return Round(
        {member: Change(given=share) for member, share in shares.items()},
        LeaderMemory({member: replace(members[member], owned=share) for member, share in shares.items()}),
    )
