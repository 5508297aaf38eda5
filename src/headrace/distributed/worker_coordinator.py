# SPDX-License-Identifier: Apache-2.0
"""This worker's word in the group: what it says of itself when it joins, and how it assigns work when it leads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from headrace.api.errors import ConnectError
from headrace.distributed.assignors import Change, Share, assign, share_of
from headrace.distributed.connect_protocol import (
    ConnectProtocol,
    MemberMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)
from headrace.distributed.herder_events import Assigned, HerderEvent, SessionLost
from headrace.model.assignment import Assignment, AssignmentError
from headrace.model.cluster_config_state import ClusterConfigState

_log = logging.getLogger(__name__)


class WorkerCoordinator:
    """Implements ``headrace.kafka.group_membership.GroupListener``; called on the membership's thread, never blocks.

    Knows the last assignment, which it needs for the next join, and tells the herder of every change by an event.
    Java: ``WorkerCoordinator``.
    """

    def __init__(
        self,
        url: str,
        connect_protocol: str,
        snapshot: Callable[[], ClusterConfigState],
        post: Callable[[HerderEvent], None],
    ) -> None:
        """``url`` is this worker's advertised REST URL, ``snapshot`` the config topic's newest known state."""
        self._url = url
        self._offered = ConnectProtocol.offered(connect_protocol)
        self._snapshot = snapshot
        self._post = post
        self._lock = threading.Lock()
        self._owned: Assignment | None = None
        self._generation = -1

    @property
    def generation(self) -> int:
        """The group's generation that this worker was last part of, -1 before; read from any thread."""
        return self._generation

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        with self._lock:
            metadata = MemberMetadata(self._url, self._snapshot().offset, self._owned)
        return [(protocol.group_name, encode_metadata(metadata, protocol)) for protocol in self._offered]

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The leader's part. A leader that lags behind a member assigns nothing: it has to read up first."""
        chosen, config = ConnectProtocol.named(protocol), self._snapshot()
        metadata = {member: decode_metadata(data) for member, data in members.items()}
        newest = max(of_member.config_offset for of_member in metadata.values())
        base = Assignment(leader_id, metadata[leader_id].url, max(newest, config.offset))
        if newest > config.offset:
            _log.info("Read the config topic up to offset %d, a member up to %d: reading on", config.offset, newest)
            mismatch = encode_assignment(replace(base, error=AssignmentError.CONFIG_MISMATCH), chosen)
            return dict.fromkeys(members, mismatch)
        owned = {member: _share(of_member.owned) for member, of_member in metadata.items()}
        changes = assign(owned, config)
        return {member: encode_assignment(_assignment(base, change), chosen) for member, change in changes.items()}

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        """What the leader sends is what changes, except in the eager protocol; what the herder hears is everything."""
        try:
            received = decode_assignment(assignment)
        except ConnectError as error:
            _log.error("Cannot read the assignment of generation %d: %s", generation, error)
            return
        with self._lock:
            self._generation = generation
            if received.error is AssignmentError.NONE:
                self._owned = _merge(self._owned, received, ConnectProtocol.named(protocol))
                received = self._owned
        self._post(Assigned(generation, member_id, received))

    def on_lost(self, reason: str) -> None:
        with self._lock:
            self._owned = None
        self._post(SessionLost())


def _share(owned: Assignment | None) -> Share:
    return Share() if owned is None else share_of(owned.connectors, owned.tasks)


def _assignment(base: Assignment, change: Change) -> Assignment:
    return replace(
        base,
        connectors=tuple(sorted(change.given.connectors)),
        tasks=tuple(sorted(change.given.tasks)),
        revoked_connectors=tuple(sorted(change.revoked.connectors)),
        revoked_tasks=tuple(sorted(change.revoked.tasks)),
    )


def _merge(owned: Assignment | None, received: Assignment, protocol: ConnectProtocol) -> Assignment:
    if protocol is ConnectProtocol.EAGER:
        return received
    revoked = share_of(received.revoked_connectors, received.revoked_tasks)
    now = (_share(owned) - revoked) | _share(received)
    return replace(
        received,
        connectors=tuple(sorted(now.connectors)),
        tasks=tuple(sorted(now.tasks)),
        revoked_connectors=(),
        revoked_tasks=(),
    )
