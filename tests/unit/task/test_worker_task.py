# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.kafka.errors import KafkaClientError, ProducerFencedError, RetriableKafkaError, UncertainCommitError
from headrace.model.health import Handling, Stage
from headrace.model.ids import ConnectorTaskId
from headrace.task.errors.processing_context import Operation
from headrace.task.errors.processing_context import Stage as OperationStage
from headrace.task.task_protocol import Ended, Outcome
from headrace.task.task_spec import TaskKind, TaskSpec
from headrace.task.worker_link import TaskControl
from headrace.task.worker_task import run_task

SPEC = TaskSpec(ConnectorTaskId("c", 0), TaskKind.SOURCE, "m:C", {}, {}, {}, {}, {}, "offsets", True)
STEPS = ("init", "start", "run", "close")


class Steps:
    """A RunnableTask that notes its steps; ``at`` says what else happens in one."""

    def __init__(self, noted: list[Any], at: dict[str, Callable[[], None]]) -> None:
        self._noted = noted
        self._at = at

    def _step(self, name: str) -> None:
        self._noted.append(name)
        self._at.get(name, lambda: None)()

    def init(self) -> None:
        self._step("init")

    def start(self) -> None:
        self._step("start")

    def execute(self) -> None:
        self._step("run")

    def close(self) -> None:
        self._step("close")


def run(link: Any, control: TaskControl, **at: Callable[[], None]) -> Ended:
    def make(spec: TaskSpec, link: Any, control: TaskControl) -> Steps:
        link.heard.append("make")
        at.get("make", lambda: None)()
        return Steps(link.heard, at)

    return run_task(SPEC, link, control, {TaskKind.SOURCE: make})


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_a_whole_life(link: Any, control: TaskControl) -> None:
    assert run(link, control) == Ended(Outcome.STOPPED)
    assert link.heard == ["make", "init", "confirm", "start", "running", "run", "close"]


def test_without_a_go_it_never_starts(link: Any, control: TaskControl) -> None:
    link.go = False
    assert run(link, control) == Ended(Outcome.ABANDONED)
    assert link.heard == ["make", "init", "confirm", "close"]


def test_a_stop_at_any_moment(link: Any, control: TaskControl) -> None:
    expected = {
        "make": ["make", "init", "confirm", "close"],
        "init": ["make", "init", "confirm", "close"],
        "start": ["make", "init", "confirm", "start", "run", "close"],
        "run": ["make", "init", "confirm", "start", "running", "run", "close"],
    }
    for moment, heard in expected.items():
        link.heard.clear()
        control = TaskControl()
        assert run(link, control, **{moment: control.stop}) == Ended(Outcome.STOPPED), moment
        assert link.heard == heard, moment
    link.heard.clear()
    assert run(link, control) == Ended(Outcome.STOPPED)
    assert link.heard == []


def test_paused_from_the_start_it_fences_no_producer(link: Any) -> None:
    class Control(TaskControl):
        def wait_while_paused(self, seconds: float | None = None) -> bool:
            link.heard.append("waits")
            self.set_paused(False)
            return True

    control = Control()
    control.set_paused(True)
    assert run(link, control) == Ended(Outcome.STOPPED)
    assert link.heard == ["paused", "waits", "make", "init", "confirm", "start", "running", "run", "close"]


@pytest.mark.parametrize("moment", ["make", "init", "start", "run"])
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ProducerFencedError("gone"), Outcome.FENCED),
        (UncertainCommitError("who knows"), Outcome.TAINTED),
        (RetriableKafkaError("later"), Outcome.TAINTED),
        (KafkaClientError("too large"), Outcome.FAILED),
        (RetriableError("the task's own"), Outcome.FAILED),
        (ValueError("a defect"), Outcome.FAILED),
        (ConfigError("wrong"), Outcome.FAILED),
        (SystemExit(0), Outcome.FAILED),
        (KeyboardInterrupt(), Outcome.FAILED),
    ],
)
def test_what_an_error_means(
    link: Any, control: TaskControl, moment: str, error: BaseException, outcome: Outcome
) -> None:
    ended = run(link, control, **{moment: raising(error)})
    assert ended.outcome is outcome
    assert (link.heard[-1] == "close") == (moment != "make")


def test_the_reason_of_a_failure(link: Any, control: TaskControl) -> None:
    def first_line_and_rest(error: BaseException) -> tuple[str, str]:
        first, _, rest = run(link, control, run=raising(error)).reason.partition("\n")
        return first, rest

    first, rest = first_line_and_rest(ConnectError("the file is gone"))
    assert first == "the file is gone"
    assert rest.startswith("Traceback") and "in fail" in rest
    assert first_line_and_rest(SystemExit(0))[0] == "SystemExit: 0"
    assert first_line_and_rest(KeyError("x"))[0] == "KeyError: 'x'"
    assert first_line_and_rest(ConfigError("a user's mistake")) == ("a user's mistake", ""), "no trace for that"


def test_closing_may_fail(link: Any, control: TaskControl) -> None:
    assert run(link, control, close=raising(ValueError("x"))) == Ended(Outcome.STOPPED)


def test_the_error_that_ends_it_is_reported_with_its_stage(link: Any, control: TaskControl) -> None:
    def poll() -> None:
        control.progress.enter(Stage.POLLING)
        raise ConnectError("no such column")

    def wrapped() -> None:
        try:
            poll()
        except ConnectError as error:
            raise KafkaClientError("wrapped") from error

    error = run(link, control, run=poll).error
    assert error is not None
    assert (error.error_class, error.message, error.stage, error.handling) == (
        "ConnectError", "no such column", Stage.POLLING, Handling.FAILED,
    )  # fmt: skip
    error = run(link, control, run=wrapped).error
    assert error is not None and (error.message, error.stage) == ("wrapped", Stage.POLLING)
    control = TaskControl()
    error = run(link, control, init=raising(RetriableKafkaError("1/1 brokers are down (_ALL_BROKERS_DOWN)"))).error
    assert error is not None and (error.stage, error.handling) == (Stage.STARTING, Handling.RETRIED)
    assert error.hint is not None and "bootstrap.servers" in error.hint


def test_the_record_that_fails_a_task_is_named(link: Any, control: TaskControl, errors: Any, record: Any) -> None:
    def convert() -> None:
        operation = Operation(OperationStage.VALUE_CONVERTER, "JsonConverter")
        errors(tolerates=False).execute(operation, record("x", 7), raising(DataError("no JSON")))

    error = run(link, control, run=convert).error
    assert error is not None
    assert (error.error_class, error.message, error.stage) == ("DataError", "no JSON", Stage.CONVERTING)
    assert error.position == {"source_partition": {"p": "p"}, "source_offset": {"n": 7}}
    assert (error.handling, error.hint) == (
        Handling.FAILED, "is value.converter the converter that fits these records?",
    )  # fmt: skip


def test_errors_that_refuse_everything_are_reported_too(link: Any, control: TaskControl) -> None:
    class OddError(Exception):
        def __setattr__(self, name: str, value: object) -> None:
            raise ValueError("no")

        def __str__(self) -> str:
            raise ValueError("no")

    def poll() -> None:
        control.progress.enter(Stage.POLLING)
        raise OddError

    ended = run(link, control, run=poll)
    assert ended.outcome is Outcome.FAILED
    assert ended.error is not None
    assert (ended.error.error_class, ended.error.stage) == ("OddError", Stage.POLLING)
