# SPDX-License-Identifier: Apache-2.0
"""The audit of a rebalance, by the leader: who had and has what, and why, in texts for one line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from headrace.distributed.group.assignors import NOTHING, LeaderMemory, Loss, Member, Round, Share, union
from headrace.logs.audit import work_text


@dataclass(frozen=True, slots=True)
class LedRound:
    """A round as its leader has decided it; ``work`` is all that the cluster is to run."""

    before: LeaderMemory
    members: Mapping[str, Member]
    outcome: Round
    work: Share

    def change(self, now: datetime) -> str:
        """Return what each worker had and has, what is kept for lost workers, and the delay, which begins now."""
        kept = (f"{_text(loss.share)} kept for {_name(loss.url)}" for loss in self.outcome.memory.losses)
        return "; ".join([*self._moves(), *kept, *self._delay(now)])

    def reason(self) -> str:
        """Return why the workers have joined again, as far as the leader knows it."""
        reasons = [*self._comings(), *self._goings(), *self._work()]
        if not self.before.members:
            reasons = ["this worker leads now", *self._work()]
        return ", ".join(reasons) or "a worker has requested it"

    def _moves(self) -> Iterator[str]:
        gone = [(member.url, member.owned, None) for id, member in self._left()]
        here = [(member.url, self._had(id, member), self._has(id)) for id, member in self.members.items()]
        for url, had, has in sorted([*gone, *here], key=lambda move: move[0]):
            if has is None:
                yield f"{_name(url)} had {_text(had)} → is gone"
            elif had == has:
                yield f"{_name(url)} has {_text(has)} as before"
            else:
                yield f"{_name(url)} had {_text(had)} → has {_text(has)}"

    def _had(self, id: str, member: Member) -> Share:
        """Return what the member says that it runs; in the eager protocol, where it does not, what it was given."""
        remembered = self.before.members[id].owned if id in self.before.members else NOTHING
        return (member.owned | member.leaving) or remembered

    def _has(self, id: str) -> Share:
        return self.outcome.memory.members[id].owned

    def _delay(self, now: datetime) -> Iterator[str]:
        if self.outcome.delay > 0:
            end = now.astimezone(UTC) + timedelta(seconds=self.outcome.delay)
            yield f"delayed by {self.outcome.delay * 1000:.0f} ms until {end:%Y-%m-%dT%H:%M:%SZ}"

    def _left(self) -> list[tuple[str, Member]]:
        """Return the members of the round before that are gone, but for those that are back with another id."""
        here = {member.url for member in self.members.values()}
        return [
            (id, member)
            for id, member in self.before.members.items()
            if id not in self.members and member.url not in here
        ]

    def _comings(self) -> Iterator[str]:
        known = {member.url for member in self.before.members.values()} | {loss.url for loss in self.before.losses}
        for url in sorted(member.url for id, member in self.members.items() if id not in self.before.members):
            yield f"{_name(url)} {'is back' if url in known else 'joined'}"

    def _goings(self) -> Iterator[str]:
        for url in sorted(member.url for _, member in self._left()):
            yield f"{_name(url)} left"
        here = {member.url for member in self.members.values()}
        still = {loss.url for loss in self.outcome.memory.losses}
        for url in sorted({loss.url for loss in self.before.losses} - here - still):
            yield f"the delay for {_name(url)} is over"

    def _work(self) -> Iterator[str]:
        had = union(self._had(id, member) for id, member in self.members.items())
        known = had | union(member.owned for member in self.before.members.values()) | _lost(self.before.losses)
        if free := self.work - known:
            yield f"{_text(free)} to be assigned"
        if removed := known - self.work:
            yield f"{_text(removed)} removed"


def _lost(losses: tuple[Loss, ...]) -> Share:
    return union(loss.share for loss in losses)


def _text(share: Share) -> str:
    return work_text(share.connectors, share.tasks)


def _name(url: str) -> str:
    return urlsplit(url).netloc or url
