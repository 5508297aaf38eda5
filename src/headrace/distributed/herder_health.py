# SPDX-License-Identifier: Apache-2.0
"""The health of a distributed worker: failures that end it, problems for health checks, the stage that it waits in."""

from __future__ import annotations

from headrace.distributed.core import config_lag
from headrace.distributed.core.herder_state import HerderState, Phase
from headrace.distributed.herder_services import HerderServices
from headrace.distributed.stores import Stores

_SLOW_STAGE = 1.0
"""Seconds after which a pending stage is named in ``stage``."""
_TOLERATED_ABSENCE = 10.0
"""Seconds without its group, or without a writable status topic, after which a worker is unhealthy."""


class HerderHealth:
    """Views of the herder's collaborators, for any thread. No call blocks."""

    def __init__(self, services: HerderServices, stores: Stores) -> None:
        self._services = services
        self._stores = stores

    def failure(self, state: HerderState) -> BaseException | None:
        """Return the failure of a collaborator without which an active herder cannot work, None if there is none.

        An internal topic that is read no more counts: the herder would miss events, and show outdated statuses and
        offsets as current ones. So does a membership without a thread: other workers may have been given the work that
        runs here (invariant 10).
        """
        if state.phase is not Phase.ACTIVE:
            return None
        return self._stores.failure() or self._services.member.failure()

    def stage(self, state: HerderState) -> str:
        """Return a description of the step that the worker waits for."""
        slow = self._services.worker.blocked() + self._services.stages.longer_than(_SLOW_STAGE)
        waiting = f"waiting for the {slow[0]}" if slow else "waiting for the herder"
        if state.phase is Phase.STARTING:
            trouble = self._stores.trouble()
            return f"waiting for Kafka to answer ({trouble})" if trouble else f"reading the internal topics; {waiting}"
        if state.membership is None:
            member = self._services.member
            trouble = member.absence() or member.trouble() or _describe_lag(state)
            return f"joining the group{f' ({trouble})' if trouble else ''}; {waiting}"
        return waiting

    def problem(self) -> str | None:
        """Return the reason why this worker is unhealthy, None if it is not."""
        absence = self._services.member.absence(_TOLERATED_ABSENCE)
        if absence is not None:
            return f"It has been {absence}"
        return self._services.status_store.trouble(_TOLERATED_ABSENCE)


def _describe_lag(state: HerderState) -> str | None:
    if not config_lag.is_behind(state):
        return None
    return f"the config topic is read up to offset {state.config.offset}, the group is at {state.needed_offset}"
