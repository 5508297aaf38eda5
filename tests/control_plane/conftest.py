# SPDX-License-Identifier: Apache-2.0
"""Plays events to the herder's pure core and writes down what it does, to be compared with a golden transcript."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest

from headrace.herder.core import herder_actions as actions
from headrace.herder.core import herder_events as events
from headrace.herder.core.config_writes import (
    OffsetsRequest,
    PutConnector,
    PutRestart,
    PutSessionKey,
    PutTaskCount,
    PutTaskRestart,
    WriteRequest,
)
from headrace.herder.core.herder_actions import Transition
from headrace.herder.core.herder_core import step
from headrace.herder.core.herder_state import HerderState
from headrace.herder.engine.config_topic_writes import config_write
from headrace.model.assignment import Assignment
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import OffsetsChange, OffsetsChanged
from headrace.model.state import TargetState
from headrace.storage.config_log import ConfigLog, ConnectorUpdated, TasksUpdated
from headrace.storage.config_records import Record
from headrace.storage.config_write_encoder import encode_write
from headrace.storage.config_writes import ConfigWrite, SessionKeyWrite

ME, OTHER = "me", "other"
ROUND = 1000
"""More offsets than a write takes. Transcripts show the number of the write in place of its offset."""


class ConfigTopic:
    """The config topic: the records of each write, folded by the real log. Each write begins at a round offset."""

    def __init__(self) -> None:
        self._log = ConfigLog()
        self._writes = 0

    @property
    def state(self) -> ClusterConfigState:
        return self._log.state

    def write(self, write: WriteRequest) -> events.ConfigUpdated:
        group = enumerate(self._encoded(write), self._writes * ROUND)
        updates = [update for offset, (key, value) in group for update in self._log.apply(key, value, offset)]
        self._writes += 1
        connectors = (update.name for update in updates if isinstance(update, ConnectorUpdated))
        tasks = (update.name for update in updates if isinstance(update, TasksUpdated))
        return events.ConfigUpdated(self.state, tuple(connectors), tuple(tasks))

    def _encoded(self, request: WriteRequest) -> Sequence[Record]:
        """The records that the store in Kafka writes."""
        if isinstance(request, PutSessionKey):
            write: ConfigWrite = SessionKeyWrite(request.rules.new_key(0, lambda size: bytes([self._writes]) * size))
        else:
            write = config_write(request)
        return encode_write(write, self.state, self._log.live_keys)


class Stage:
    """One worker's core, with a world around it that does at once what the actions ask, by default."""

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

    def show(self, value: object) -> str:
        return show(value)

    def happen(self, event: events.HerderEvent) -> None:
        """An event, and after it all that follows from it by itself."""
        queue = [event]
        while queue:
            event = queue.pop(0)
            self.lines.append(f"> {self.show(event)}")
            self.state, done = self._step(event)
            for action in done:
                self.lines.append(f"    {self.show(action)}")
                if type(action) not in self.held:
                    queue.extend(self._results(action))

    def _step(self, event: events.HerderEvent) -> Transition:
        """A step, which has to be the same for a core that compares everything anew: nothing settled is overlooked."""
        state, done = step(self.state, event)
        anew, done_anew = step(replace(self.state, settled={}), event)
        assert (state, list(map(self.show, done))) == (anew, list(map(self.show, done_anew)))
        return state, done

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


def show(value: object, last: Callable[[int], int] | None = None) -> str:
    """An event or action as one line, without what is the same everywhere.

    ``last`` makes an offset the number of the last write that was read.
    """
    last = last or _last
    match value:
        case events.ConfigUpdated(config=config) | events.StoresStarted(config=config):
            return f"{type(value).__name__}(offset={last(config.offset)})"
        case events.SessionLost():
            return "SessionLost()"
        case events.Assigned(generation=generation, assignment=a):
            revoked = (*a.revoked_connectors, *a.revoked_tasks)
            return (
                f"Assigned(generation={generation}, leader={a.leader}, offset={last(a.config_offset)}, "
                f"connectors={_text(a.connectors)}, tasks={_text(a.tasks)}"
                f"{f', revoked={_text(revoked)}' if revoked else ''}"
                f"{f', delay={a.delay_ms} ms' if a.delay_ms else ''})"
            )
        case actions.Write(write=write) | events.WriteRequested(write=write) | events.WriteDone(write=write):
            return f"{type(value).__name__}({show(write)})"
        case events.ConnectorFailed(error=None) | events.RemovedOffsetsGone() | events.RemovedOffsetsStay():
            return f"{type(value).__name__}(name={value.name})"
    shown = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    if "generation" in shown and shown.keys() & {"name", "connector"}:  # the offset of task configs' commit record
        shown["generation"] //= ROUND
    parts = (f"{name}={_text(each)}" for name, each in shown.items() if (name, each) not in _USUAL)
    return f"{type(value).__name__}({', '.join(parts)})"


def _last(offset: int) -> int:
    """The number of the last write that was read; -1 before the first."""
    return (offset - 1) // ROUND


def _text(value: object) -> str:
    match value:
        case ConnectorTaskId():
            return str(value)
        case TargetState():
            return value.value
        case list() | tuple():
            return "[" + ", ".join(_text(each) for each in value) + "]"
        case Mapping():
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
