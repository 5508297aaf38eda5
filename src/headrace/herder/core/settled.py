# SPDX-License-Identifier: Apache-2.0
"""The herder's core: a reconciler that has found nothing to do is not called again with the same knowledge.

Each new connector takes a dozen events, and few of them change what a reconciler compares. On a worker with a thousand
tasks a comparison takes a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from operator import is_

from headrace.herder.core.herder_actions import Transition
from headrace.herder.core.herder_state import HerderState

Reconciler = Callable[[HerderState], Transition]


def unless_settled(knowledge: Callable[[HerderState], tuple[object, ...]]) -> Callable[[Reconciler], Reconciler]:
    """Skip a reconciler while ``knowledge`` returns the same objects as when it last found nothing to do.

    ``knowledge`` has to return all that the reconciler reads: a value that it leaves out may change unnoticed. A
    reconciler that finds nothing to do has to return the state that it was given.
    """

    def decorate(reconcile: Reconciler) -> Reconciler:
        @wraps(reconcile)
        def reconcile_unless_settled(state: HerderState) -> Transition:
            known, settled = knowledge(state), state.settled.get(reconcile)
            if settled is not None and all(map(is_, known, settled)):
                return state, []
            after, actions = reconcile(state)
            if actions or after is not state:
                return after, actions
            return replace(state, settled={**state.settled, reconcile: known}), []

        return reconcile_unless_settled

    return decorate
