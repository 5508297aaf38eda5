# SPDX-License-Identifier: Apache-2.0
"""Carries out the changes of a plan, one by one, and undoes them. Each step may be repeated after an interruption."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.ctl.ctl_error import CtlError
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import Goal
from headrace.cli.plan.cluster_state import Current, read_connector
from headrace.cli.plan.differences import Action, Change, Config

if TYPE_CHECKING:
    from headrace.cli.ctl.rest_api import RestApi

_REQUESTS: Final = {Goal.RUNNING: "resume", Goal.PAUSED: "pause", Goal.STOPPED: "stop"}
_INTERVAL_S: Final = 0.2

Say = Callable[[str], None]


def is_open(api: RestApi, change: Change) -> bool:
    """Return True for a change that is still to be made; False if the connector is created or deleted already.

    Raise CtlError if it was changed since the plan was made.
    """
    now = api.find(path("connectors", change.name, "config"))
    _check_unchanged(change, now)
    return change.action is Action.UPDATE or (now is None) is (change.action is Action.CREATE)


def carry_out(api: RestApi, change: Change, say: Say) -> None:
    """Make one change. Raise CtlError if the worker refuses it."""
    if change.action is Action.DELETE:
        api.send("DELETE", path("connectors", change.name))
        say(f"Connector {change.name} is deleted")
    elif change.action is Action.CREATE and change.config is not None:
        _create(api, change.name, change.config, change.state)
        say(f"Connector {change.name} is created")
    else:
        _update(api, change)
        say(f"Connector {change.name} is changed")


def _check_unchanged(change: Change, now: Config | None) -> None:
    was = None if change.current is None else change.current.config
    planned = None if change.action is Action.DELETE else change.config or was
    if now not in (was, planned):
        text = "exists by now" if was is None else "was changed since the plan was made"
        if now is None:
            text = "was deleted since the plan was made"
        raise CtlError(f"Connector {change.name} {text}", remedy="Make the plan again")


def _update(api: RestApi, change: Change) -> None:
    """Write the configuration and request the state, in the order in which no task runs that is not to run."""
    if change.state in (Goal.PAUSED, Goal.STOPPED):
        _request_state(api, change.name, change.state)
    if change.config is not None:
        api.send("PUT", path("connectors", change.name, "config"), dict(change.config))
    if change.state is Goal.RUNNING:
        _request_state(api, change.name, change.state)


def _create(api: RestApi, name: str, config: Config, state: Goal | None) -> None:
    body: dict[str, Any] = {"name": name, "config": dict(config)}
    if state is not None:
        body["initial_state"] = state.value
    api.send("POST", "/connectors", body)


def _request_state(api: RestApi, name: str, state: Goal) -> None:
    api.send("PUT", path("connectors", name, _REQUESTS[state]))


def roll_back(api: RestApi, begun: Sequence[Change], timeout: float, say: Say) -> Mapping[str, str]:
    """Undo changes, the last one first; return the errors of those that cannot be undone, by name.

    A connector that another user has changed meanwhile is left as it is.
    Return when the cluster shows the former configurations and states, or at the timeout (s).
    """
    errors = {}
    for change in reversed(begun):
        try:
            _undo(api, change)
            say(f"Connector {change.name} is {'deleted' if change.current is None else 'as before'}")
        except CtlError as error:
            errors[change.name] = str(error)
    deadline = time.monotonic() + timeout
    for change in begun:
        while change.name not in errors and not _is_as_before(api, change):
            if time.monotonic() > deadline:
                errors[change.name] = f"it is not as before after {timeout:g} s"
            else:
                time.sleep(_INTERVAL_S)
    return errors


def _undo(api: RestApi, change: Change) -> None:
    now, was = read_connector(api, change.name), change.current
    if now is not None and now.config not in (change.config, was and was.config):
        raise CtlError("another user has changed it meanwhile, so it is left as it is")
    if was is None:
        if now is not None:
            api.send("DELETE", path("connectors", change.name))
    elif now is None:
        _create(api, change.name, was.config, was.state)
    else:
        _put_back(api, was, now)


def _put_back(api: RestApi, was: Current, now: Current) -> None:
    if was.state is not Goal.RUNNING:
        _request_state(api, was.name, was.state)
    if was.config != now.config:
        api.send("PUT", path("connectors", was.name, "config"), dict(was.config))
    if was.state is Goal.RUNNING:  # also where it is shown: the request of before may not be visible yet
        _request_state(api, was.name, was.state)


def _is_as_before(api: RestApi, change: Change) -> bool:
    now, was = read_connector(api, change.name), change.current
    if now is None or was is None:
        return now is None and was is None
    return now.config == was.config and now.state is was.state
