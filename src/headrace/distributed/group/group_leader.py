# SPDX-License-Identifier: Apache-2.0
"""The leader's part in a rebalance: from the members' metadata to their assignments."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import replace

from headrace.distributed.group.assignors import (
    LeaderMemory,
    Member,
    Round,
    Share,
    all_work,
    assign_eagerly,
    share_of,
    with_work,
)
from headrace.distributed.group.connect_protocol import ConnectProtocol, MemberMetadata, encode_assignment
from headrace.distributed.group.foreign_members import sort_members
from headrace.distributed.group.incremental_cooperative_assignor import assign_incrementally
from headrace.distributed.group.rebalance_audit import LedRound
from headrace.model.assignment import Assignment, AssignmentError
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.deadline import Clock
from headrace.model.ids import ConnectorTaskId

log = logging.getLogger(__name__)


class GroupLeader:
    """The assignor of the group's leader, with its memory between rounds. For one thread, the membership's.

    A round counts only once the leader has received its own assignment: until then the group may have begun another,
    and no member may know of this one. A generation that another worker led ends the memory.
    """

    def __init__(self, max_delay: float, clock: Clock) -> None:
        """``max_delay``: scheduled.rebalance.max.delay.ms, in seconds."""
        self._max_delay = max_delay
        self._clock = clock
        self._memory = LeaderMemory()
        self._unconfirmed: LeaderMemory | None = None
        self._led: LedRound | None = None
        self._protocol: ConnectProtocol | None = None

    @property
    def members(self) -> Mapping[str, Member]:
        """The group by the last round that this worker led, empty if it does not lead; read from any thread."""
        return self._memory.members

    def assign(
        self, leader_id: str, chosen: ConnectProtocol, members: Mapping[str, bytes], config: ClusterConfigState
    ) -> dict[str, bytes]:
        """Return the encoded assignments by member id; ``members`` maps ids to encoded metadata."""
        found = sort_members(leader_id, members, new=self._protocol is None)
        metadata = found.ours
        own = metadata[leader_id]
        if found.yield_to is not None:
            return self._yield_to_rivals(leader_id, own, chosen, members, found.yield_to)
        refused = encode_assignment(Assignment(leader_id, own.url, -1, topics=own.topics), chosen)
        assigned = self._assign(leader_id, chosen, metadata, config)
        return {**assigned, **dict.fromkeys(found.foreign, refused)}

    def _yield_to_rivals(
        self,
        leader_id: str,
        own: MemberMetadata,
        chosen: ConnectProtocol,
        members: Mapping[str, bytes],
        to: MemberMetadata,
    ) -> dict[str, bytes]:
        """Leave the group to another cluster: nothing changes for its members in this round, and this worker goes."""
        self._unconfirmed, self._led = self._memory, None
        again = Assignment(leader_id, own.url, -1, error=AssignmentError.CONFIG_MISMATCH)
        refused = Assignment(leader_id, to.url, -1, topics=to.topics)
        return {id: encode_assignment(refused if id == leader_id else again, chosen) for id in members}

    def _assign(
        self,
        leader_id: str,
        chosen: ConnectProtocol,
        metadata: Mapping[str, MemberMetadata],
        config: ClusterConfigState,
    ) -> dict[str, bytes]:
        newest = max(of_member.config_offset for of_member in metadata.values())
        own = metadata[leader_id]
        base = Assignment(leader_id, own.url, max(newest, config.offset), topics=own.topics)
        obstacle = self._obstacle(chosen, newest, config.offset)
        if obstacle is not None:
            log.info("Nothing is assigned in this round, and all are to join again: %s", obstacle)
            self._unconfirmed, self._led = self._memory, None
            again = encode_assignment(replace(base, error=AssignmentError.CONFIG_MISMATCH), chosen)
            return dict.fromkeys(metadata, again)
        assignees = {id: _member(of_member) for id, of_member in metadata.items()}
        work = all_work(config)
        outcome = self._round(chosen, assignees, work)
        self._unconfirmed = outcome.memory
        self._led = LedRound(self._memory, assignees, outcome, work)
        # Rounded up, so that no member joins a moment too early.
        base = replace(base, delay_ms=math.ceil(outcome.delay * 1000))
        return {
            id: encode_assignment(with_work(base, change.given, change.revoked), chosen)
            for id, change in outcome.changes.items()
        }

    def confirm_round(self, leads: bool, chosen: ConnectProtocol) -> LedRound | None:
        """Note that this worker has received its assignment of a round, which it led or not.

        Return the round if it led it and has assigned work in it.
        """
        led = self._led if leads else None
        self._memory = (self._unconfirmed if leads else None) or LeaderMemory()
        self._unconfirmed, self._led = None, None
        self._protocol = chosen
        return led

    def forget(self) -> None:
        """Drop all memory: the group has gone on without this worker."""
        self._memory, self._unconfirmed, self._led, self._protocol = LeaderMemory(), None, None, None

    def _obstacle(self, chosen: ConnectProtocol, newest: int, offset: int) -> str | None:
        """Return the reason why nothing can be assigned yet; None if work can be assigned."""
        if newest > offset:
            return f"a member has read the config topic up to offset {newest}, this leader up to {offset}"
        if chosen is ConnectProtocol.EAGER and self._protocol is not ConnectProtocol.EAGER:
            # Eager metadata does not name owned work, so nothing may be assigned in the first eager round: from the
            # second on all members have stopped all work before they joined.
            return "the group changes to the eager protocol, before which everything has to be stopped"
        return None

    def _round(self, chosen: ConnectProtocol, members: Mapping[str, Member], work: Share) -> Round:
        if chosen is ConnectProtocol.EAGER:
            return assign_eagerly(members, work)
        return assign_incrementally(members, work, self._memory, self._clock(), self._max_delay)


def owner_url(members: Mapping[str, Member], of: str | ConnectorTaskId) -> str | None:
    """Return the REST URL of the member that was given the connector or task; None if there is none."""
    for member in members.values():
        if of in (member.owned.tasks if isinstance(of, ConnectorTaskId) else member.owned.connectors):
            return member.url
    return None


def _member(metadata: MemberMetadata) -> Member:
    if metadata.owned is None:
        return Member(metadata.url)
    claimed = share_of(metadata.owned.connectors, metadata.owned.tasks)
    leaving = share_of(metadata.owned.revoked_connectors, metadata.owned.revoked_tasks)
    return Member(metadata.url, claimed - leaving, claimed & leaving)
