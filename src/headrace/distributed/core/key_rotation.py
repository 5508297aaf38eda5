# SPDX-License-Identifier: Apache-2.0
"""The herder's core, part 5: the leader keeps a session key of the right kind in the config topic (KIP-507)."""

from __future__ import annotations

from headrace.distributed.core.config_writes import PutSessionKey
from headrace.distributed.core.herder_actions import WatchSessionKey
from headrace.distributed.core.herder_events import SessionKeyExpired
from headrace.distributed.core.herder_state import HerderState, Privileges
from headrace.distributed.core.leader_duties import Settled, enqueue, lead


def settle_session_key(state: HerderState) -> Settled:
    """Has a key written if there is none that fits; else watches over the age of the one there is."""
    watched, rules, key = state.leadership.watched_key, state.session_keys, state.config.session_key
    if state.leadership.privileges is not Privileges.HELD:
        # Whoever leads again, or writes again after a failure, has to look at the key anew.
        return (state if watched is None else lead(state, watched_key=None)), []
    if rules is None or not state.signed or _underway(state):
        return state, []
    if key is None or not rules.fits(key):
        return enqueue(state, PutSessionKey(key, rules)), []
    if key != watched:
        return lead(state, watched_key=key), [WatchSessionKey(key, rules)]
    return state, []


def session_key_expired(state: HerderState, event: SessionKeyExpired) -> HerderState:
    """Has it replaced, unless that was done already. A worker that leads no more drops the write in its turn."""
    rules, key = state.session_keys, state.config.session_key
    if rules is None or _underway(state) or event.key != key:
        return state
    return enqueue(state, PutSessionKey(key, rules))


def _underway(state: HerderState) -> bool:
    return any(isinstance(write, PutSessionKey) for write in (*state.leadership.queue, state.leadership.writing))
