# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 6: other workers that wait for a round of zombie fencing of the leader's (KIP-618).

The leader begins its rounds without being asked: a request only tells when the one that it needs is over.
"""

from __future__ import annotations

from headrace.api.errors import ConnectError
from headrace.distributed.herder_actions import HerderAction, Reply
from headrace.distributed.herder_events import FencingRequested
from headrace.distributed.herder_state import HerderState, Privileges
from headrace.distributed.leader_duties import Settled, lead, refusal
from headrace.herder.errors import BadRequestError, NotFoundError


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
    if not state.exactly_once:
        return Reply(request, ConnectError("The leader fences no tasks: its exactly-once source support is off"))
    type = state.type_of(connector)
    if type is not None and type != "source":
        return Reply(request, BadRequestError(f"Connector {connector} is not a source connector"))
    return None if type is None or state.awaits_fencing(connector) else Reply(request)
