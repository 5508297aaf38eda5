# SPDX-License-Identifier: Apache-2.0
"""Plays events to the herder's pure core and writes down what it does, to be compared with a golden transcript."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from headrace.distributed.core import herder_actions as actions
from headrace.distributed.core import herder_events as events
from headrace.distributed.core.config_writes import (
    OffsetsRequest,
    PutConnector,
    PutOffsetsDeleted,
    PutRestart,
    PutSessionKey,
    PutTargetState,
    PutTaskConfigs,
    PutTaskCount,
    PutTaskRestart,
    RemoveConnector,
    WriteRequest,
)
from headrace.distributed.core.herder_core import step
from headrace.distributed.core.herder_state import HerderState
from headrace.model.assignment import Assignment
from headrace.model.cluster_config_state import ClusterConfigState, RemovedOffsets
from headrace.model.ids import ConnectorTaskId
from headrace.model.offsets import OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState

ME, OTHER = "me", "other"


class ConfigTopic:
    """The config topic as a fold of writes, for the transcripts; the real one is tested in storage."""

    def __init__(self) -> None:
        self.state = ClusterConfigState()

    def write(self, write: WriteRequest) -> events.ConfigUpdated:
        state = replace(self.state, offset=self.state.offset + 1)
        connectors: tuple[str, ...] = ()
        tasks: tuple[str, ...] = ()
        match write:
            case PutConnector(name=name, config=config, target_state=target):
                state = replace(state, connector_configs={**state.connector_configs, name: config})
                if target is not None:
                    state = replace(state, target_states={**state.target_states, name: target})
                connectors = (name,)
            case RemoveConnector(name=name, with_offsets=with_offsets):
                left = RemovedOffsets(state.connector_configs[name], state.task_count_records.get(name, 0))
                state = self._without(state, name)
                if with_offsets:
                    state = replace(state, removed_offsets={**state.removed_offsets, name: left})
            case PutOffsetsDeleted(name=name):
                rest = {key: left for key, left in state.removed_offsets.items() if key != name}
                state = replace(state, removed_offsets=rest)
            case PutTargetState(name=name, state=target):
                state = replace(state, target_states={**state.target_states, name: target})
                if target is TargetState.STOPPED and state.task_counts.get(name):
                    state = replace(
                        state,
                        task_counts={**state.task_counts, name: 0},
                        task_config_offsets={**state.task_config_offsets, name: state.offset},
                        pending_fencing=state.pending_fencing | {name},
                    )
                    tasks = (name,)
            case PutTaskConfigs(name=name, configs=configs):
                ids = {ConnectorTaskId(name, n): config for n, config in enumerate(configs)}
                others = {id: config for id, config in state.task_configs.items() if id.connector != name}
                state = replace(
                    state,
                    task_configs={**others, **ids},
                    task_counts={**state.task_counts, name: len(configs)},
                    task_config_offsets={**state.task_config_offsets, name: state.offset},
                    pending_fencing=state.pending_fencing | {name},
                )
                tasks = (name,)
            case PutSessionKey(rules=rules):
                state = replace(state, session_key=rules.new_key(0, lambda size: bytes([state.offset]) * size))
            case PutTaskCount(name=name, tasks=count):
                state = replace(
                    state,
                    task_count_records={**state.task_count_records, name: count},
                    pending_fencing=state.pending_fencing - {name},
                )
        self.state = state
        return events.ConfigUpdated(state, connectors, tasks)

    @staticmethod
    def _without(state: ClusterConfigState, name: str) -> ClusterConfigState:
        def rest(values: Mapping[Any, Any]) -> dict[Any, Any]:
            return {key: value for key, value in values.items() if name not in (key, getattr(key, "connector", None))}

        return replace(
            state,
            connector_configs=rest(state.connector_configs),
            target_states=rest(state.target_states),
            task_counts=rest(state.task_counts),
            task_configs=rest(state.task_configs),
            task_config_offsets=rest(state.task_config_offsets),
            pending_fencing=state.pending_fencing - {name},
        )


class Stage:
    """One worker's core, with a world around it that does at once what the actions ask, unless told not to."""

    def __init__(self, exactly_once: bool = True, leader: str = ME) -> None:
        self.state = HerderState(exactly_once=exactly_once)
        self.topic = ConfigTopic()
        self.leader = leader
        self.lines: list[str] = []
        self.held: set[type] = set()
        """Kinds of actions that are noted, but whose results do not come by themselves."""
        self.task_configs: dict[str, list[dict[str, str]]] = {}
        self._generation = 0
        self._owned: tuple[frozenset[str], frozenset[ConnectorTaskId]] | None = None

    # ---- what a test does

    def say(self, comment: str) -> None:
        self.lines.append(f"# {comment}")

    def happen(self, event: events.HerderEvent) -> None:
        """An event, and after it all that follows from it by itself."""
        queue = [event]
        while queue:
            event = queue.pop(0)
            self.lines.append(f"> {show(event)}")
            self.state, done = step(self.state, event)
            for action in done:
                self.lines.append(f"    {show(action)}")
                if type(action) not in self.held:
                    queue.extend(self._results(action))

    def hold(self, *kinds: type) -> None:
        self.held |= set(kinds)

    def release(self, *kinds: type) -> None:
        self.held -= set(kinds)

    def request(self, write: WriteRequest) -> None:
        self.happen(events.WriteRequested(write))

    def create(self, name: str, *tasks: str, request: int = 1, target: TargetState | None = None) -> None:
        """Requests a connector that will make one task config per entry of ``tasks``."""
        self.task_configs[name] = [{"part": part} for part in tasks]
        full = {"connector.class": "Source", "name": name}
        self.request(PutConnector(request, name, full, target, allow_replace=False))

    def change_offsets(self, name: str, *, request: int = 1, dry_run: bool = False) -> None:
        self.happen(events.OffsetsRequested(OffsetsRequest(request, name, OffsetsChange(None, dry_run))))

    def start(self) -> None:
        self.happen(events.StoresStarted(self.topic.state))

    def assign(self, connectors: set[str] | None = None, tasks: set[ConnectorTaskId] | None = None) -> events.Assigned:
        """A generation of the group; without arguments this worker gets everything there is."""
        self._generation += 1
        config = self.topic.state
        everything = {id for name in config.connectors() for id in config.tasks(name)}
        return events.Assigned(
            self._generation,
            ME,
            Assignment(
                leader=self.leader,
                leader_url=f"http://{self.leader}/",
                config_offset=config.offset,
                connectors=tuple(sorted(config.connectors() if connectors is None else connectors)),
                tasks=tuple(sorted(everything if tasks is None else tasks)),
            ),
        )

    # ---- the world

    def _results(self, action: actions.HerderAction) -> list[events.HerderEvent]:
        match action:
            case actions.Join() | actions.Rejoin():
                return [self.assign()]
            case actions.CatchUp(rejoin=rejoin):
                return [events.ConfigUpdated(self.topic.state), events.CaughtUp(rejoin)]
            case actions.FindType(connector_class=name):
                return [events.TypeFound(name, name.lower())]
            case actions.PlanRestart(name=name, include_tasks=include_tasks):
                tasks = self.topic.state.tasks(name) if include_tasks else ()
                return [events.RestartPlanned((name,), tasks)]
            case actions.ChangeOffsets(wanted=wanted):
                return [events.OffsetsEnded(wanted, OffsetsChanged("done", ()))]
            case actions.DeleteRemovedOffsets(name=name):
                return [events.RemovedOffsetsGone(name)]
            case actions.SetConnectorTarget(name=name):
                return [events.ConnectorStarted(name)]
            case actions.StartConnector(name=name):
                return [events.ConnectorStarted(name)]
            case actions.StopConnector(name=name):
                return [events.ConnectorStopped(name)]
            case actions.ComputeTaskConfigs(name=name):
                return [events.TaskConfigsComputed(name, self.task_configs[name])]
            case actions.PublishTaskConfigs(name=name):
                return [events.TaskConfigsPublished(name)]
            case actions.StopTasks(ids=ids):
                return [events.TasksStopped(ids)]
            case actions.ClaimWrites():
                return [events.WritesClaimed()]
            case actions.Write(write=PutRestart(name=name) as write):
                asked = events.RestartRequested(name, write.only_failed, write.include_tasks)
                return [self.topic.write(write), asked, events.WriteDone(write)]
            case actions.Write(write=PutTaskRestart(name=name, task=task) as write):
                asked = events.RestartPlanned((), (ConnectorTaskId(name, task),))
                return [self.topic.write(write), asked, events.WriteDone(write)]
            case actions.Write(write=write):
                return [self.topic.write(write), events.WriteDone(write)]
            case actions.SweepStatuses():
                return [events.SweepEnded()]
            case actions.Fence(connector=connector, generation=generation):
                return [events.FencingDone(connector, generation)]
            case actions.AskForFencing(connector=connector, generation=generation):
                count = len(self.topic.state.tasks(connector))
                written = self.topic.write(PutTaskCount(connector, generation, count))
                return [written, events.FencingAnswered(connector, generation)]
        return []


_USUAL = (
    ("request", None),
    ("base", None),
    ("with_offsets", False),
    ("failed", False),
    ("result", None),
    ("trace", ""),
)
"""What most values have, and so is not shown."""


def show(value: object) -> str:
    """An event or action as one line, without what is the same everywhere."""
    match value:
        case events.ConfigUpdated(config=config):
            return f"ConfigUpdated(offset={config.offset})"
        case events.StoresStarted(config=config):
            return f"StoresStarted(offset={config.offset})"
        case events.SessionLost():
            return "SessionLost()"
        case events.Assigned(generation=generation, assignment=a):
            revoked = (*a.revoked_connectors, *a.revoked_tasks)
            return (
                f"Assigned(generation={generation}, leader={a.leader}, offset={a.config_offset}, "
                f"connectors={_text(a.connectors)}, tasks={_text(a.tasks)}"
                f"{f', revoked={_text(revoked)}' if revoked else ''}"
                f"{f', delay={a.delay_ms} ms' if a.delay_ms else ''})"
            )
        case actions.Write(write=write) | events.WriteRequested(write=write) | events.WriteDone(write=write):
            return f"{type(value).__name__}({show(write)})"
    shown = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    parts = (f"{name}={_text(each)}" for name, each in shown.items() if (name, each) not in _USUAL)
    return f"{type(value).__name__}({', '.join(parts)})"


def _text(value: object) -> str:
    match value:
        case ConnectorTaskId():
            return str(value)
        case TargetState():
            return value.value
        case list() | tuple():
            return "[" + ", ".join(_text(each) for each in value) + "]"
        case dict():
            return "{" + ", ".join(f"{key}: {_text(each)}" for key, each in value.items()) + "}"
        case events.HerderEvent() | OffsetsRequest() | OffsetsChange() | OffsetsChanged():
            return show(value)
    return str(value) if isinstance(value, str) else repr(value)


@pytest.fixture
def stage() -> Callable[..., Stage]:
    return Stage


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Stage], None]:
    """Compares a stage's transcript with ``<test name>.txt``; ``GOLDEN=write`` writes it instead, to be read over."""
    path = Path(request.path).parent / "golden" / f"{request.node.name.removeprefix('test_')}.txt"

    def compare(played: Stage) -> None:
        text = "\n".join(played.lines) + "\n"
        if os.environ.get("GOLDEN") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == path.read_text()

    return compare
