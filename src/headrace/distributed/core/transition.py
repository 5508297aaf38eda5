# SPDX-License-Identifier: Apache-2.0
"""The result of each rule of the herder's core: a state, and the actions that lead from the former one to it."""

from __future__ import annotations

from dataclasses import replace

from headrace.distributed.core.herder_actions import HerderAction
from headrace.distributed.core.herder_state import HerderState

Transition = tuple[HerderState, list[HerderAction]]


def with_leadership(state: HerderState, **changes: object) -> HerderState:
    """Return the state with ``changes`` of its leadership."""
    return replace(state, leadership=replace(state.leadership, **changes))  # type: ignore[arg-type]
