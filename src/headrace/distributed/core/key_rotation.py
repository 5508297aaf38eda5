# SPDX-License-Identifier: Apache-2.0
"""The herder's core: rotation of the session key that the leader keeps in the config topic (KIP-507)."""

from __future__ import annotations

from headrace.distributed.core.config_writes import PutSessionKey
from headrace.distributed.core.herder_actions import WatchSessionKey
from headrace.distributed.core.herder_events import SessionKeyExpired
from headrace.distributed.core.herder_state import HerderState, Privileges
from headrace.distributed.core.leader_duties import enqueue
from headrace.distributed.core.transition import Transition, with_leadership


def reconcile_session_key(state: HerderState) -> Transition:
    """Enqueue a new key if none fits the rules; else schedule the expiry of the present one."""
    watched, rules, key = state.leadership.watched_key, state.session_keys, state.config.session_key
    if state.leadership.privileges is not Privileges.HELD:
        # A worker that leads again, or writes again after a failure, has to check the key again.
        return (state if watched is None else with_leadership(state, watched_key=None)), []
    if rules is None or not state.signed or _underway(state):
        return state, []
    if key is None or not rules.fits(key):
        return enqueue(state, PutSessionKey(key, rules)), []
    if key != watched:
        return with_leadership(state, watched_key=key), [WatchSessionKey(key, rules)]
    return state, []


def session_key_expired(state: HerderState, event: SessionKeyExpired) -> HerderState:
    """Enqueue a new key, unless that was done already. A worker that leads no more drops the write in its turn."""
    rules, key = state.session_keys, state.config.session_key
    if rules is None or _underway(state) or event.key != key:
        return state
    return enqueue(state, PutSessionKey(key, rules))


def _underway(state: HerderState) -> bool:
    return any(isinstance(write, PutSessionKey) for write in (*state.leadership.queue, state.leadership.writing))
