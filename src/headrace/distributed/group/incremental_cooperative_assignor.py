# SPDX-License-Identifier: Apache-2.0
"""Assignment in the compatible and sessioned protocols (KIP-415): work stays with its owner unless there is a reason.

Pure: the time is a parameter, and the leader's memory part of the result. Two rules hold in every round. Work that a
member owns or has not stopped yet goes to no other member: first it is revoked, its owner stops it and joins again, and
only then it is free. And the work of a worker that has gone waits for its return, at most
``scheduled.rebalance.max.delay.ms``, before others get it. Java: ``IncrementalCooperativeAssignor``; unlike there a
worker that returns, identified by its URL, has its work back at once instead of at the end of the delay, each loss has
a delay of its own, and work that two members claim stays with one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.distributed.group.assignors import NOTHING, Change, LeaderMemory, Loss, Member, Round, Share, union
from headrace.distributed.group.load_balance import place_work, surplus_work
from headrace.model.backoff import ExponentialBackoff

_FIRST_BACKOFF = 0.04
"""Seconds to wait after a revoking round before the next one in a row; then 40 times as long each time."""
_BACKOFF_FACTOR = 40.0


def assign_incrementally(
    members: Mapping[str, Member], work: Share, memory: LeaderMemory, now: float, max_delay: float
) -> Round:
    """Return the outcome of one round. ``now`` and ``max_delay`` are in seconds; 0 reassigns lost work at once."""
    kept = _kept(members, work, memory)
    free = work - union(kept.values()) - union(member.leaving for member in members.values())
    returned, losses = _returned(members, _losses(members, free, memory, now, max_delay), memory)
    shares = {id: kept[id] | returned.get(id, NOTHING) for id in members}
    # The return of a lost worker will restore the balance.
    excess = {} if losses else surplus_work(shares, work)
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
    """Return the work retained by each member.

    Work that two members claim stays with the one that the last round gave it to, else with the first one.
    """
    claimed = {id: members[id].owned & work for id in sorted(members)}
    if len(union(claimed.values())) == sum(map(len, claimed.values())):
        return claimed
    kept = {id: share & _remembered(memory, id) for id, share in claimed.items()}
    taken = union(kept.values())
    for id, share in claimed.items():
        more = share - taken
        kept[id] |= more
        taken |= more
    return kept


def _remembered(memory: LeaderMemory, id: str) -> Share:
    return memory.members[id].owned if id in memory.members else NOTHING


def _losses(
    members: Mapping[str, Member], free: Share, memory: LeaderMemory, now: float, max_delay: float
) -> tuple[Loss, ...]:
    """Return the work that still waits for workers that have gone, in this round or before.

    Work that a present member was given but does not claim is no loss: it never received it, or has given it up.
    """
    gone = (member for id, member in memory.members.items() if id not in members)
    fresh = (Loss(member.url, member.owned, now + max_delay) for member in gone)
    losses = (replace(loss, share=loss.share & free) for loss in (*memory.losses, *fresh))
    return tuple(loss for loss in losses if loss.share and now < loss.until)


def _returned(
    members: Mapping[str, Member], losses: Sequence[Loss], memory: LeaderMemory
) -> tuple[dict[str, Share], tuple[Loss, ...]]:
    """Return the work that returns to new members with the URL of a lost one, and the remaining losses."""
    newcomers = {members[id].url: id for id in sorted(members) if id not in memory.members}
    returned: dict[str, Share] = {}
    for loss in losses:
        if loss.url in newcomers:
            id = newcomers[loss.url]
            returned[id] = returned.get(id, NOTHING) | loss.share
    return returned, tuple(loss for loss in losses if loss.url not in newcomers)


def _balance(excessive: bool, memory: LeaderMemory, now: float, max_delay: float) -> LeaderMemory:
    """Decide if work may be revoked for the sake of balance in this round, or from ``revoke_at`` on.

    One round may do so at once; further ones in a row have to wait longer and longer, so that a group that keeps
    changing is not reshuffled all the time (KAFKA-12495).
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
    """Return the seconds until the next scheduled round, 0 if there is none."""
    due = [loss.until for loss in losses]
    if balance.revoke_at is not None:
        due.append(balance.revoke_at)
    return min(due) - now if due else 0.0
