# SPDX-License-Identifier: Apache-2.0
"""The wait of a join for source tasks with outdated configs, which commit before they are fenced (KIP-618).

A worker joins a rebalance when these tasks have ended, or their graceful stop has timed out. Tasks that outlast it are
killed by the worker, or fenced by the leader, whichever comes first.
"""

from __future__ import annotations

import logging

from headrace.herder.core.herder_state import HerderState
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.deadline import Clock, Deadline

log = logging.getLogger(__name__)


class OutdatedTasksWait:
    """A timer, for one wait after the other. For one thread, the membership's."""

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
