# SPDX-License-Identifier: Apache-2.0
"""The worker's part of a preview: from a configuration to the sandbox, and from its items to the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.error_text import error_text
from headrace.api.errors import RetriableError
from headrace.api.protected_files import protected
from headrace.herder.errors import BadRequestError
from headrace.inspection.preview.hidden_values import HiddenValues
from headrace.inspection.sandbox import Sandbox, SandboxCancelledError, SandboxError, SandboxTimeoutError
from headrace.model.info import ConnectorOffset
from headrace.worker.tasks.task_basis import TaskBasis

Json = dict[str, Any]
_STOPPING_S: Final = 2.5
"""Seconds, at most, of a preview's time that are left to stop the task and the connector in order."""


@dataclass(frozen=True, slots=True)
class FramesOffer:
    """An offer of Spark to one process: the name of the ``function`` that connects to it, and its ``settings``.

    ``missing`` returns the reason if a job was refused since Spark has not started, else None.
    """

    function: str
    settings: Mapping[str, Any]
    missing: Callable[[], str | None]


PreviewFrames = Callable[[float], AbstractContextManager[FramesOffer | None]]
"""Offers Spark within a block, until the clock ``time.monotonic`` has reached a time; None if there is no Spark."""


def no_frames(until: float) -> AbstractContextManager[None]:
    """Offer no Spark."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class PreviewOptions:
    """The task and the records that a user wants to see; ``timeout_s`` is the time in seconds after which all ends.

    ``from_end``: a sink's last records instead of its first ones.
    """

    task: int = 0
    records: int = 10
    timeout_s: float = 20.0
    from_end: bool = False


def run_preview(
    sandbox: Sandbox,
    basis: TaskBasis,
    options: PreviewOptions,
    offsets: Sequence[ConnectorOffset] = (),
    secrets: Collection[str] = (),
    frames: PreviewFrames = no_frames,
) -> Json:
    """Run a preview from ``offsets`` on and return its JSON, without ``secrets`` and values of references. Blocks.

    ``frames`` are for steps on frames.

    What fails in the plugins' code is part of the answer, and so are their deaths and the deadline. Raise
    BadRequestError for a task that there is not, SandboxBusyError if too many sandboxes run, RetriableError if there is
    no record since Spark has not started in time.
    """
    # The clock is the machine's.
    until = time.monotonic() + options.timeout_s - min(_STOPPING_S, options.timeout_s / 4)
    hidden = {*secrets, *basis.config.secrets, *basis.config.values.values()}
    spec = {
        "config": dict(basis.connector_config),
        "worker": dict(basis.worker_config),
        "consumer": dict(basis.consumer),
        "exactly_once": basis.exactly_once,
        "task": options.task,
        "records": options.records,
        "from_end": options.from_end,
        "offsets": [[each.partition, each.offset] for each in offsets if each.offset is not None],
        "secrets": sorted(hidden),
        "protected": sorted(protected()),
        "until": until,
    }
    with frames(until) as offer:
        named = None if offer is None else {"function": offer.function, "settings": dict(offer.settings)}
        items, killed = _run(sandbox, {**spec, "frames": named}, options.timeout_s)
        missing = None if offer is None else offer.missing()
    answer = _answer(basis, options, items)
    if missing is not None and not answer["records"]:
        raise RetriableError(f"There is no preview of connector {answer['connector']}: {missing}")
    if killed is not None:
        _add_death(answer, killed, HiddenValues(hidden))
    return answer


def _run(sandbox: Sandbox, spec: Mapping[str, Any], timeout_s: float) -> tuple[list[Json], SandboxError | None]:
    try:
        return sandbox.run("preview", spec, timeout_s), None
    except SandboxError as error:
        if error.type == "ConfigError":
            raise BadRequestError(HiddenValues(spec["secrets"]).hide(error_text(error))) from None
        return error.items, error


def _answer(basis: TaskBasis, options: PreviewOptions, items: Sequence[Json]) -> Json:
    def of(kind: str) -> list[Any]:
        return [item[kind] for item in items if kind in item]

    end = next(iter(of("end")), {"reason": "killed", "error": None})
    return {
        "connector": basis.connector_config["name"],
        "type": basis.kind.value,
        "task": options.task,
        "tasks": next((task["of"] for task in of("task")), None),
        "records": of("record"),
        "plans": of("plan"),
        "dryRun": next(iter(of("dryRun")), None),
        "end": end["reason"],
        "error": end["error"],
        "notes": of("note"),
        "stage": next(reversed(of("stage")), "start of the process"),
    }


def _add_death(answer: Json, death: SandboxError, hidden: HiddenValues) -> None:
    """Add the end of the process to an answer; only as a note if it was while all was stopped."""
    stage, killed = answer["stage"], isinstance(death, SandboxTimeoutError | SandboxCancelledError)
    text = f"{error_text(death)}, in {stage}" if isinstance(death, SandboxTimeoutError) else error_text(death)
    message = hidden.hide(text)
    if answer["end"] != "killed":
        answer["notes"].append(message)
        return
    answer["end"] = "killed" if killed else "died"
    answer["error"] = {"stage": stage, "error": death.type, "message": message, "hint": None}
