# SPDX-License-Identifier: Apache-2.0
"""The herder's core: requests for rounds of zombie fencing between workers (KIP-618).

A worker asks the leader for a round as soon as nothing else keeps the tasks that it was assigned from starting. The
leader serves such requests even if its own exactly-once source support is off, so that a group may switch it on worker
by worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.api.errors import RetriableError
from headrace.herder.core.herder_actions import AskForFencing, HerderAction, Later, Reply, Transition
from headrace.herder.core.herder_events import FencingAnswered, FencingAskDue, FencingRequested
from headrace.herder.core.herder_state import FencingAsked, HerderState, Privileges
from headrace.herder.core.leader_duties import refusal
from headrace.herder.core.local_work import fail_starts
from headrace.herder.errors import BadRequestError, NotFoundError

_RETRY = 1.0
"""Seconds until the leader is asked again."""


# ---- requests of this worker to the leader


def reconcile_asks(state: HerderState) -> Transition:
    """Ask for the rounds that tasks here wait for; again after a change of the leader or of the task configs."""
    membership = state.membership
    if membership is None or membership.is_leader:
        return state, []
    actions: list[HerderAction] = []
    for name in state.waits_for_fencing():
        asked = FencingAsked(state.config.task_config_offsets[name], membership.leader_url)
        if state.fencing_asked.get(name) != asked:
            state = replace(state, fencing_asked={**state.fencing_asked, name: asked})
            actions.append(AskForFencing(name, asked.generation, asked.leader_url))
    return state, actions


def fencing_answered(state: HerderState, event: FencingAnswered) -> Transition:
    """Start the tasks that waited, ask again later, or fail them for an error that is not retriable.

    A restart of failed tasks asks for another round.
    """
    asked = state.fencing_asked.get(event.connector)
    if asked is None or asked.generation != event.generation:
        return state, []
    if event.error is not None and not isinstance(event.error, RetriableError):
        state = replace(state, fencing_asked=_without(state.fencing_asked, event.connector))
        return fail_starts(state, event.connector, event.trace or str(event.error))
    if event.connector in state.waits_for_fencing():
        return state, [Later(_RETRY, FencingAskDue(event.connector))]
    return replace(state, fencing_asked=_without(state.fencing_asked, event.connector)), []


def fencing_ask_due(state: HerderState, connector: str) -> HerderState:
    """Forget the last request, so that the leader is asked again."""
    return replace(state, fencing_asked=_without(state.fencing_asked, connector))


def _without(asked: Mapping[str, FencingAsked], connector: str) -> dict[str, FencingAsked]:
    return {name: request for name, request in asked.items() if name != connector}


# ---- requests of other workers to this leader


def fencing_requested(state: HerderState, event: FencingRequested) -> HerderState:
    """Queue another worker's request."""
    waiting = (event.request, event.connector)
    return state.with_leadership(fencing_requests=(*state.leadership.fencing_requests, waiting))


def reconcile_fencing_requests(state: HerderState) -> Transition:
    """Answer all requests that can be answered by now."""
    if not state.leadership.fencing_requests or state.membership is None:
        return state, []
    answers = {waiting: _answer(state, *waiting) for waiting in state.leadership.fencing_requests}
    rest = tuple(waiting for waiting, answer in answers.items() if answer is None)
    return state.with_leadership(fencing_requests=rest), [answer for answer in answers.values() if answer is not None]


def _answer(state: HerderState, request: int, connector: str) -> HerderAction | None:
    """Return the answer, None if it is not known yet.

    A leader without the write privileges may not have read the topic to its end.
    """
    if not state.is_leader:
        return refusal(state, request)
    if state.leadership.privileges is not Privileges.HELD:
        return None
    if not state.config.contains(connector):
        return Reply(request, NotFoundError(f"Connector {connector} not found"))
    type = state.type_of(connector)
    if type is not None and type != "source":
        return Reply(request, BadRequestError(f"Connector {connector} is not a source connector"))
    return None if type is None or state.lacks_task_count(connector) else Reply(request)
