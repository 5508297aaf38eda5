# SPDX-License-Identifier: Apache-2.0
"""Assignment in the compatible and sessioned protocols (KIP-415): work stays where it is unless there is a reason.

Pure: the clock's time comes in, and what the leader has to remember goes out. Two rules hold in every round. Work
that a member owns or has not stopped yet goes to nobody else: first it is revoked, its owner stops it and joins again,
and only then it is free. And the work of a worker that has gone waits for its return, at most
``scheduled.rebalance.max.delay.ms``, before others get it. Java: ``IncrementalCooperativeAssignor``; unlike there a
worker that comes back, known by its URL, has its work back at once instead of at the end of the delay, each loss has
a delay of its own, and what two members claim stays with one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.distributed.group.assignors import NOTHING, Change, LeaderMemory, Loss, Member, Round, Share, union
from headrace.distributed.group.load_balance import place_work, surplus
from headrace.model.backoff import ExponentialBackoff

_FIRST_BACKOFF = 0.04
"""Seconds to wait after a revoking round before the next one in a row; then 40 times as long each time."""
_BACKOFF_FACTOR = 40.0


def assign_incrementally(
    members: Mapping[str, Member], work: Share, memory: LeaderMemory, now: float, max_delay: float
) -> Round:
    """One round. ``now`` and ``max_delay`` in seconds; with no delay at all lost work is given out at once."""
    kept = _kept(members, work, memory)
    free = work - union(kept.values()) - union(member.leaving for member in members.values())
    returned, losses = _returned(members, _losses(members, free, memory, now, max_delay), memory)
    shares = {id: kept[id] | returned.get(id, NOTHING) for id in members}
    # A worker that is waited for will restore the balance by its return.
    excess = {} if losses else surplus(shares, work)
    balance = _balance(any(excess.values()), memory, now, max_delay)
    if balance.revoke_at is None:
        shares = {id: share - excess.get(id, NOTHING) for id, share in shares.items()}
    placed = place_work(shares, free - union(loss.share for loss in losses) - union(shares.values()))
    changes = {
        id: Change(given=placed[id] - kept[id], revoked=(member.owned | member.leaving) - placed[id])
        for id, member in members.items()
    }
    after = {id: Member(member.url, placed[id]) for id, member in members.items()}
    return Round(changes, replace(balance, members=after, losses=losses), _delay(losses, balance, now))


def _kept(members: Mapping[str, Member], work: Share, memory: LeaderMemory) -> dict[str, Share]:
    """What each goes on with. What two claim stays with the one whom the last round gave it, else with the first."""
    kept = {id: members[id].owned & work & _remembered(memory, id) for id in sorted(members)}
    taken = union(kept.values())
    for id in kept:
        kept[id] |= (members[id].owned & work) - taken
        taken |= kept[id]
    return kept


def _remembered(memory: LeaderMemory, id: str) -> Share:
    return memory.members[id].owned if id in memory.members else NOTHING


def _losses(
    members: Mapping[str, Member], free: Share, memory: LeaderMemory, now: float, max_delay: float
) -> tuple[Loss, ...]:
    """What still waits for workers that have gone, now or before.

    What a member was given but does not claim is no loss: it never heard of it, or has given it up.
    """
    gone = (member for id, member in memory.members.items() if id not in members)
    fresh = (Loss(member.url, member.owned, now + max_delay) for member in gone)
    losses = (replace(loss, share=loss.share & free) for loss in (*memory.losses, *fresh))
    return tuple(loss for loss in losses if loss.share and now < loss.until)


def _returned(
    members: Mapping[str, Member], losses: Sequence[Loss], memory: LeaderMemory
) -> tuple[dict[str, Share], tuple[Loss, ...]]:
    """Gives members that are new, but have the URL of one that has gone, that one's work; and what is left."""
    newcomers = {members[id].url: id for id in sorted(members) if id not in memory.members}
    returned: dict[str, Share] = {}
    for loss in losses:
        if loss.url in newcomers:
            id = newcomers[loss.url]
            returned[id] = returned.get(id, NOTHING) | loss.share
    return returned, tuple(loss for loss in losses if loss.url not in newcomers)


def _balance(excessive: bool, memory: LeaderMemory, now: float, max_delay: float) -> LeaderMemory:
    """Whether work may be taken for the sake of balance in this round, or from ``revoke_at`` on.

    One round may do it at once; further ones in a row have to wait longer and longer, so that a group that keeps
    changing is not shuffled all the time (KAFKA-12495).
    """
    if not excessive:
        return LeaderMemory()
    rounds, revoke_at = memory.revoking_rounds, memory.revoke_at
    if revoke_at is None:
        revoke_at = now + ExponentialBackoff(_FIRST_BACKOFF, max_delay, _BACKOFF_FACTOR).after(rounds)
    if now < revoke_at:
        return LeaderMemory(revoking_rounds=rounds, revoke_at=revoke_at)
    return LeaderMemory(revoking_rounds=rounds + 1)


def _delay(losses: Sequence[Loss], balance: LeaderMemory, now: float) -> float:
    """Seconds until the next round is due by itself."""
    due = [loss.until for loss in losses]
    if balance.revoke_at is not None:
        due.append(balance.revoke_at)
    return min(due) - now if due else 0.0
