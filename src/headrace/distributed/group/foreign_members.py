# SPDX-License-Identifier: Apache-2.0
"""Foreign members of the group: workers with other internal topics, and clients that are no workers. Pure.

Two clusters with one group.id would otherwise be one group: each would be given connectors of the other, and wait for
configurations that are in a topic that it does not read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.api.errors import ConfigError, ConnectError
from headrace.distributed.group.connect_protocol import MemberMetadata, decode_metadata
from headrace.model.assignment import GroupTopics

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SortedMembers:
    """The members of a round: those of the leader's cluster and the foreign ones."""

    ours: Mapping[str, MemberMetadata]
    foreign: frozenset[str] = field(default_factory=frozenset)
    yield_to: MemberMetadata | None = None
    """A member of the other cluster to which the group belongs, if it is not the leader's."""


def sort_members(leader_id: str, members: Mapping[str, bytes], *, new: bool) -> SortedMembers:
    """Separate the leader's own cluster from foreign members; ``members`` maps ids to metadata.

    ``new``: the leader has not been in this group before, so that the group may belong to another cluster.
    """
    known: dict[str, MemberMetadata] = {}
    for id, data in members.items():
        try:
            known[id] = decode_metadata(data)
        except ConnectError as error:
            log.error("Member %.200r of the group is no worker, and is given nothing: %s", id, error)
    topics = known[leader_id].topics
    others = {id: each.topics for id, each in known.items() if topics and each.topics and each.topics != topics}
    ours = {id: each for id, each in known.items() if id not in others}
    for id, theirs in others.items():
        log.error("Member %.200r at %s has other internal topics, and is given nothing: %s", id, known[id].url, theirs)
    foreign = frozenset(members.keys() - ours.keys())
    rivals = sorted((known[id] for id in others), key=lambda each: _claim_strength(each.topics, known))
    if new and rivals and _claim_strength(rivals[-1].topics, known) > _claim_strength(topics, known):
        return SortedMembers(ours, foreign, rivals[-1])
    return SortedMembers(ours, foreign)


def _claim_strength(topics: GroupTopics | None, members: Mapping[str, MemberMetadata]) -> tuple[bool, int]:
    """Return the rank of a cluster's claim to the group: the cluster that runs work wins, else the larger one."""
    theirs = [member for member in members.values() if member.topics == topics]
    return any(each.owned and (each.owned.connectors or each.owned.tasks) for each in theirs), len(theirs)


def foreign_group_error(group_id: str, ours: GroupTopics, theirs: GroupTopics, url: str) -> ConfigError:
    """Return the error of a worker that has joined the group of another cluster."""
    return ConfigError(
        f"The workers of group.id={group_id} (one is at {url}) have other internal topics than this "
        f"worker, which therefore does not join them. Theirs: {theirs}. This worker's: {ours}. Give this worker a "
        "group.id of its own, or the group's topics",
        "group.id",
        group_id,
    )
