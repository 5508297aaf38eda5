# SPDX-License-Identifier: Apache-2.0
"""This worker's side of the group protocol: its metadata for joins, and the assignments that it receives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

from headrace.distributed.group.assignors import NOTHING, Share, share_of, with_work
from headrace.distributed.group.connect_protocol import (
    ConnectProtocol,
    MemberMetadata,
    decode_assignment,
    encode_metadata,
)
from headrace.distributed.group.group_leader import GroupLeader, owner_url
from headrace.distributed.group.rebalance_audit import LedRound
from headrace.herder.core.herder_events import Assigned, HerderEvent, SessionLost
from headrace.herder.core.herder_state import HerderState
from headrace.logs import audit
from headrace.model.assignment import Assignment, AssignmentError, GroupTopics
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.deadline import Clock, Deadline
from headrace.model.ids import ConnectorTaskId

log = logging.getLogger(__name__)

_NO_LEADER = Assignment(leader="", leader_url="", config_offset=-1)
"""Carries the work that a member still runs while it has no assignment."""


@dataclass(frozen=True, slots=True)
class HerderView:
    """The coordinator's view of the herder; all of it is called on the membership's thread."""

    config: Callable[[], ClusterConfigState]
    """The config topic's newest known state."""
    post: Callable[[HerderEvent], None]
    state: Callable[[], HerderState]
    """The herder's newest published state."""
    on_foreign_group: Callable[[GroupTopics, str], None] = lambda topics, url: None
    """Called with the internal topics of the group's workers, if they are others, and the URL of one of them.

    The worker cannot stay in the group.
    """


class WorkerCoordinator:
    """Implements ``kafka.group.group_membership.GroupListener``; called on the membership's thread, never blocks.

    Keeps the last assignment, which the next join needs, and reports every change to the herder by an event. Revoked
    work is claimed until the herder has stopped it: before that no other worker may have it. Java:
    ``WorkerCoordinator``.
    """

    def __init__(
        self,
        url: str,
        offered: Sequence[ConnectProtocol],
        leader: GroupLeader,
        outdated: OutdatedTasksWait,
        herder: HerderView,
        topics: GroupTopics | None = None,
    ) -> None:
        """``url`` is this worker's advertised REST URL, ``offered`` are its protocols, most preferred first."""
        self._topics = topics
        self._url = url
        self._offered = tuple(offered)
        self._leader = leader
        self._outdated = outdated
        self._herder = herder
        self._lock = threading.Lock()
        self._owned = NOTHING
        self._leaving = NOTHING
        self._last: Assignment | None = None
        self._protocol = self._offered[0]
        self._generation = -1
        self._needed_offset = -1
        self._event_number = 0

    @property
    def generation(self) -> int:
        """The group's generation that this worker was last part of, -1 before; read from any thread."""
        return self._generation

    @property
    def protocol(self) -> ConnectProtocol:
        """The group's protocol, before a join the one that this worker prefers; read from any thread."""
        return self._protocol

    def owner_url(self, of: str | ConnectorTaskId) -> str | None:
        """Return the REST URL of the owner of a connector or task; None if unowned, or if this worker does not lead."""
        return owner_url(self._leader.members, of)

    def member_urls(self) -> frozenset[str]:
        """Return the REST URLs of the group's members; none if this worker does not lead."""
        return frozenset(member.url for member in self._leader.members.values())

    def ready_to_join(self) -> bool:
        """Return True if this worker may join now.

        The config topic has to be read as far as a round that failed for this worker's lag required: a group whose
        leader lags would otherwise rebalance without limit. Tasks that are about to be fenced get their time to end
        (KIP-618). And in the eager protocol all work is given up before a join, which has to wait until it has stopped.
        """
        config = self._herder.config()
        if config.offset < self._needed_offset:
            return False
        if not self._outdated.is_over(self._herder.state(), config):
            return False
        if self._protocol is not ConnectProtocol.EAGER:
            return True
        with self._lock:
            if self._owned:
                self._give_up_everything()
            return not self._still_leaving()

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        """Return this worker's protocols with its metadata in each, most preferred first."""
        with self._lock:
            leaving = self._still_leaving()
            claim = None
            if self._last is not None or leaving:
                claim = with_work(self._last or _NO_LEADER, self._owned | leaving, leaving)
            metadata = MemberMetadata(self._url, self._herder.config().offset, claim, self._topics)
        return [(protocol.group_name, encode_metadata(metadata, protocol)) for protocol in self._offered]

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """Return the members' assignments. A leader that lags behind a member assigns nothing: it has to read first."""
        return self._leader.assign(leader_id, ConnectProtocol.named(protocol), members, self._herder.config())

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        """Take over an assignment and post the herder all work that this worker owns now.

        The leader sends changes alone, except in the eager protocol. Raise ConnectError for an assignment that cannot
        be read: the member is then to take its session for lost.
        """
        received = decode_assignment(assignment)
        if self._topics is not None and received.topics not in (None, self._topics):
            assert received.topics is not None
            self._herder.on_foreign_group(received.topics, received.leader_url)
            return
        with self._lock:
            self._generation = generation
            self._protocol = ConnectProtocol.named(protocol)
            led = self._leader.confirm_round(received.leader == member_id, self._protocol)
            if received.error is AssignmentError.NONE:
                received = self._take_over(received)
            else:
                self._needed_offset = received.config_offset
            self._event_number += 1
            sessioned = self._protocol is ConnectProtocol.SESSIONED
            if led is not None:
                self._audit(generation, led)
            self._herder.post(Assigned(generation, member_id, received, sessioned, self._event_number))

    def _audit(self, generation: int, led: LedRound) -> None:
        if audit.is_on():
            worker, change = urlsplit(self._url).netloc, led.change(datetime.now(UTC))
            audit.write_own(audit.LEADER, worker, f"rebalance {generation}", change=change, reason=led.reason())

    def on_lost(self, reason: str) -> None:
        """Give up all work: the session is lost (invariant 10)."""
        with self._lock:
            if self._last is not None:
                # A worker that returns lagging would hold the others up, or be given work that it cannot start.
                self._needed_offset = max(self._needed_offset, self._last.config_offset)
            self._leader.forget()
            self._give_up_everything()

    def _take_over(self, received: Assignment) -> Assignment:
        given = share_of(received.connectors, received.tasks)
        revoked = share_of(received.revoked_connectors, received.revoked_tasks)
        kept = NOTHING if self._protocol is ConnectProtocol.EAGER else self._owned - revoked
        self._leaving = (self._still_leaving() | self._owned) - kept - given
        self._owned = kept | given
        self._last = replace(received, topics=None)
        return with_work(received, self._owned, revoked)

    def _give_up_everything(self) -> None:
        self._leaving = self._still_leaving() | self._owned
        self._owned, self._last = NOTHING, None
        self._event_number += 1
        self._herder.post(SessionLost(self._event_number))

    def _still_leaving(self) -> Share:
        """Return the work that was given up and may still run.

        That is all of it until the herder has applied the event, then the part that it still stops.
        """
        state = self._herder.state()
        if state.last_membership_event >= self._event_number:
            self._leaving = self._leaving & share_of(state.connectors, state.tasks)
        return self._leaving


class OutdatedTasksWait:
    """The wait of a join for source tasks with outdated configs, which commit before they are fenced (KIP-618).

    A worker joins a rebalance when these tasks have ended, or their graceful stop has timed out. Tasks that outlast it
    are killed by the worker, or fenced by the leader, whichever comes first. A timer, for one wait after the other. For
    one thread, the membership's.
    """

    def __init__(self, graceful_timeout: float, clock: Clock) -> None:
        """``graceful_timeout``: task.shutdown.graceful.timeout.ms, in seconds."""
        self._timeout = graceful_timeout
        self._clock = clock
        self._deadline: Deadline | None = None
        self._warned = False

    def is_over(self, state: HerderState, config: ClusterConfigState) -> bool:
        """Return True if a rebalance may be joined, by ``config``, which may be newer than the herder's."""
        outdated = state.outdated_tasks(config)
        if not outdated:
            self._deadline, self._warned = None, False
            return True
        if self._deadline is None:
            self._deadline = Deadline.after(self._timeout, self._clock)
        if not self._deadline.expired:
            return False
        if not self._warned:
            self._warned = True
            named = ", ".join(str(id) for id in sorted(outdated))
            log.warning("Joining a rebalance without the end of %s: their producers will be fenced", named)
        return True
