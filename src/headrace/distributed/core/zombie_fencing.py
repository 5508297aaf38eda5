# SPDX-License-Identifier: Apache-2.0
"""Rounds of zombie fencing: before a generation of tasks starts, the producers of older ones are shut out (KIP-618)."""

from __future__ import annotations

from headrace.distributed.core.herder_state import HerderState
from headrace.model.cluster_config_state import ClusterConfigState


def producers_to_fence(config: ClusterConfigState, connector: str) -> int:
    """Return the number of task producers of earlier generations to fence, 0 if new tasks fence them themselves.

    A connector that never had a task count record has had no transactional tasks. One task that follows one task
    fences it by its own ``init_transactions``, since both have the same ``transactional.id`` (invariant 2).
    """
    before = config.task_count_records.get(connector)
    if before is None or (before <= 1 and len(config.tasks(connector)) <= 1):
        return 0
    return before


def lacks_record(config: ClusterConfigState, connector: str) -> bool:
    """Return True if no round of fencing follows the connector's newest task configs, or its deletion.

    A connector that was created again, without task configs yet, still has the task count record of its deleted tasks.
    """
    deleted = connector not in config.task_config_offsets and bool(config.task_count_records.get(connector))
    return connector in config.pending_fencing or deleted


def rounds_due(state: HerderState) -> list[str]:
    """Return the connectors whose newest tasks wait for a round of fencing that the leader has not begun.

    Workers with tasks of a connector ask for its round, the leader among them, and not before former tasks had the time
    to commit their records. A round that fences nobody is harmless and begins at once.
    """
    asked = {name for _, name in state.leadership.fencing_requests} | set(state.waits_for_fencing())
    former = {id.connector for id in state.outdated_tasks(state.config)}
    return sorted(
        name
        for name in state.config.pending_fencing - former
        if state.config.tasks(name)
        and state.type_of(name) == "source"
        and state.leadership.fencing.get(name) != state.config.task_config_offsets.get(name)
        and (name in asked or (state.exactly_once and not producers_to_fence(state.config, name)))
    )
