# SPDX-License-Identifier: Apache-2.0
"""A plan as a file, and the check that it still holds.

The file has hashes of what the cluster has and of what it is to have, and no secret: values are as they are shown. What
is written to the cluster comes from the user's files again, so these and their variables have to be the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headrace.cli.ctl.ctl_error import CtlError
from headrace.cli.ctl.statuses import Goal
from headrace.cli.plan.differences import Action, Change, Config, Plan
from headrace.cli.plan.plan_view import change_data, data

_FORMAT: Final = 1
_COST: Final = 2**12
"""scrypt's n: a configuration may have a short password, which a fast hash would let an attacker find."""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan that was read from a file: its parameters, and hashes by connector."""

    files: tuple[Path, ...]
    label: str | None
    cluster: str | None
    salt: str
    changes: Mapping[str, Mapping[str, Any]]


def to_json(plan: Plan, files: Sequence[Path], label: str | None, cluster: str | None, salt: str) -> str:
    """Return the content of a plan's file."""
    changes = [{**change_data(change), **_hashes(change, salt)} for change in plan.changes]
    content = {
        "format": _FORMAT,
        "cluster": cluster,
        "files": list(map(str, files)),
        "prune": label,
        "salt": salt,
        **data(plan),
        "changes": changes,
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def read_plan(path: Path) -> SavedPlan:
    """Read a plan's file. Raise CtlError for one that is not readable or is none."""
    try:
        content = json.loads(path.read_text())
        if content["format"] != _FORMAT:
            raise CtlError(f"{path} is a plan of another version of headrace; make it anew")
        changes = {str(each["name"]): each for each in content["changes"]}
        if not all({"action", "state", "current", "desired", "planned"} <= each.keys() for each in changes.values()):
            raise KeyError("changes")
        files = tuple(map(Path, content["files"]))
        return SavedPlan(files, content["prune"], content["cluster"], str(content["salt"]), changes)
    except OSError as error:
        raise CtlError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CtlError(f"{path} is no plan: {error or 'not readable'}") from error


def differing(saved: SavedPlan, plan: Plan) -> Iterator[str]:
    """Yield a sentence for each connector because of which a plan holds no more.

    One that is already as planned is no reason: an apply may have been interrupted.
    """
    known = set()
    for change in plan.changes:
        known.add(change.name)
        was = saved.changes.get(change.name)
        if was is None:
            yield f"connector {change.name} is not in the plan"
            continue
        now = _hashes(change, saved.salt)
        if now["desired"] != was["desired"]:
            yield f"connector {change.name} is another one in the files or their variables"
        elif now["current"] not in (was["current"], was["planned"]) or not _is_state_of(was, change):
            yield f"connector {change.name} {_changed(was['current'], now['current'])}"
    for name, was in saved.changes.items():
        if name not in known and was["action"] != Action.DELETE.value:
            yield f"connector {name} is in the files no more"


def _is_state_of(was: Mapping[str, Any], change: Change) -> bool:
    """Return True for a connector in its former state, or the planned one; a new one may have no status yet."""
    if change.current is None or was["current"] is None:
        return True
    return change.current.state.value in (was["state"]["old"], was["state"]["new"])


def _changed(was: str | None, now: str | None) -> str:
    if was is None:
        return "was created since"
    return "was deleted since" if now is None else "was changed in the cluster since"


def _hashes(change: Change, salt: str) -> dict[str, str | None]:
    """Return the hashes of what the cluster has, of what the file says, and of what the cluster is to have.

    States are beside the hashes: an interrupted apply may have changed only one of configuration and state.
    """
    now, wanted = change.current, change.desired
    config = None if wanted is None else wanted.config
    state = None if wanted is None else wanted.state or wanted.initial_state
    return {
        "current": None if now is None else _hash(now.config, None, salt),
        "desired": _hash(config, state, salt),
        "planned": _hash(config, None, salt),
    }


def _hash(config: Config | None, state: Goal | None, salt: str) -> str | None:
    """Return the hash of a connector's configuration and state; None for no connector. Takes about 10 ms."""
    if config is None:
        return None
    content = json.dumps([dict(sorted(config.items())), state and state.value], ensure_ascii=False).encode()
    return hashlib.scrypt(content, salt=salt.encode(), n=_COST, r=8, p=1, dklen=32).hex()
