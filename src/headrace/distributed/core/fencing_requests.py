# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 6: rounds of zombie fencing between workers (KIP-618).

A worker asks the leader for a round as soon as nothing else keeps the tasks that it was assigned from starting. The
leader serves such requests whether its own exactly-once source support is on or not: so a group may have it switched on
worker by worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.api.errors import RetriableError
from headrace.distributed.core.herder_actions import AskForFencing, HerderAction, Later, Reply
from headrace.distributed.core.herder_events import FencingAnswered, FencingAskDue, FencingRequested
from headrace.distributed.core.herder_state import FencingAsked, HerderState, Privileges
from headrace.distributed.core.leader_duties import Settled, lead, refusal
from headrace.distributed.core.own_work import fail_starts
from headrace.herder.errors import BadRequestError, NotFoundError

_RETRY = 1.0
"""Seconds until the leader is asked again."""


# ---- what this worker asks of the leader


def settle_asks(state: HerderState) -> Settled:
    """Asks for what tasks here wait for; again when there is another leader, or when task configs are newer."""
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


def fencing_answered(state: HerderState, event: FencingAnswered) -> Settled:
    """A round that failed for good fails the tasks that wait for it; they may be restarted, which asks for another."""
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
    return replace(state, fencing_asked=_without(state.fencing_asked, connector))


def _without(asked: Mapping[str, FencingAsked], connector: str) -> dict[str, FencingAsked]:
    return {name: what for name, what in asked.items() if name != connector}


# ---- what the leader is asked


def fencing_requested(state: HerderState, event: FencingRequested) -> HerderState:
    waiting = (event.request, event.connector)
    return lead(state, fencing_requests=(*state.leadership.fencing_requests, waiting))


def settle_fencing_requests(state: HerderState) -> Settled:
    """Answers all requests that can be answered by now."""
    if not state.leadership.fencing_requests or state.membership is None:
        return state, []
    answers = {waiting: _answer(state, *waiting) for waiting in state.leadership.fencing_requests}
    rest = tuple(waiting for waiting, answer in answers.items() if answer is None)
    return lead(state, fencing_requests=rest), [answer for answer in answers.values() if answer is not None]


def _answer(state: HerderState, request: int, connector: str) -> HerderAction | None:
    """None while nobody can tell yet: a leader without the privileges may not have read the topic to its end."""
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
