# SPDX-License-Identifier: Apache-2.0
"""Java plugins that are broken, hang, die and leave things behind, on a real worker, which goes on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.java.host import TIMEOUT
from tests.java.bad_plugins import bad_plugins
from tests.support.polling import wait_for
from tests.support.processes import alive, command_of
from tests.support.topics import values, wait_for_values
from tests.support.worker_process import PLUGINS, WorkerProcess

pytestmark = pytest.mark.integration
HINT = "add the jar that has it to the plugin's directory"
NEWER = "compiled by a more recent version of the Java Runtime .*needs Java 55, and headrace runs on Java 21 at most"
HANGS = r"BadSource\.{} of connector \S+ did not return within 4 s, and its process was killed"
DIED = r"The process of connector \S+ \(BadSource\) ended with status 3"
EXITED = r", as BadSource\.behave \(BadSource\.java:\d+\) called System\.exit"
HALTED = r", as Runtime\.halt in Java does"
CRASHED = r"was killed by signal 6 \(SIGABRT\): its JVM crashed with SIGSEGV in "
EXIT_LINE = "WARN headrace.java - Java code has called System.exit"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
FILES = {"worker.log", "worker.properties"}
ANSWER_S = 5.0
"""Seconds that the list of connectors may take: a second on an idle machine."""


@pytest.fixture(scope="module")
def bad_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with the bad plugins, in whose working directory nothing else is written."""
    directory = tmp_path_factory.mktemp("bad-plugins")
    plugins = bad_plugins(tmp_path_factory.mktemp("bad-jars"))
    properties = {"group.id": "headrace-bad-plugins", "plugin.path": f"{PLUGINS},{plugins}"}
    properties["java.options"] = "-Xmx128m -Dbad.option=here"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        with WorkerProcess(directory, broker.bootstrap_servers, **properties) as running:
            running.await_answer(path="/connectors")
            running.create("good", **config("good"))
            running.wait_for_tasks("good")
            yield running
            good = len(values(broker.bootstrap_servers, "good"))
            wait_for(lambda: len(values(broker.bootstrap_servers, "good")) > good, 30, "records of the good connector")
            assert running.status("good")["connector"]["state"] == "RUNNING"
            assert {file.name for file in directory.iterdir()} == FILES


@pytest.fixture(autouse=True)
def nothing_is_left(bad_worker: WorkerProcess) -> Iterator[None]:
    """After a test the worker answers, and once its connectors are deleted their programs are gone."""
    before = {process.pid for process in programs(bad_worker)}
    yield
    begun = time.monotonic()
    assert bad_worker.rest.get("/connectors").status_code == 200
    assert time.monotonic() - begun < ANSWER_S
    for name in bad_worker.connectors() - {"good"}:
        bad_worker.delete(name)
    wait_for(
        lambda: {process.pid for process in programs(bad_worker)} <= before,
        60,
        lambda: f"the ends of {[(each.pid, command_of(each)) for each in programs(bad_worker)]}",
    )


def programs(worker: WorkerProcess) -> list[psutil.Process]:
    """Return the programs that plugins have started, whichever process is their parent now."""
    return [each for each in psutil.process_iter() if command_of(each) == f"sleep {seconds(worker)}"]


def seconds(worker: WorkerProcess) -> str:
    """Return how long programs sleep: no other worker's sleep as long."""
    return f"600.{worker.port}"


def config(topic: str, cls: str = "BadSource", **more: str) -> dict[str, str]:
    # To fill the memory, or to make and to read a message of 10 MB, takes a while.
    timeout = "30000" if more.get("mood", "").endswith((":long", ":memory")) else "4000"
    return {"connector.class": cls, "tasks.max": "1", "topic": topic, TIMEOUT: timeout, **more}


def trace(worker: WorkerProcess, name: str, *, task: bool = False) -> str:
    """Return the first line of the trace of the connector, or its task, once it has failed, which health has too."""

    def failed() -> dict[str, Any] | None:
        status = worker.status(name)
        found = [*status.get("tasks", [])] if task else [status["connector"]] if status else []
        return next((each for each in found if each["state"] == "FAILED"), None)

    line = str(wait_for(failed, 60, lambda: f"a failure: {worker.status(name)}")["trace"]).splitlines()[0]
    assert len(line) < 3000
    assert line[:1000] in worker.rest.get(f"/connectors/{name}/health").json()["why"]
    return line


@pytest.mark.parametrize(
    "cls, reason",
    [
        ("NeedsMissing", f"NoClassDefFoundError: Missing. The plugin's jars lack that class: {HINT}"),
        ("ThrowsAtOnce", "Cannot create an instance of .*: java.lang.IllegalStateException: no licence"),
        ("ExitsAtOnce", "ended with status 3"),
        ("Newer", NEWER),
        ("Garbage", "ClassFormatError: .*The plugin's jar is broken: install it again"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused(bad_worker: WorkerProcess, unique: str, cls: str, reason: str) -> None:
    body = {"name": unique, "config": config(unique, f"BadSource${cls}")}
    answer = bad_worker.rest.post("/connectors", json=body)
    assert answer.status_code == 400
    assert re.search(reason, answer.json()["message"])
    assert "Traceback" not in answer.text


def test_classes_whose_methods_name_a_missing_one_run(
    bad_worker: WorkerProcess, broker: EmbeddedBroker, unique: str
) -> None:
    """As in Java, which loads a class when it is used."""
    steps = {"transforms": "lacks", "transforms.lacks.type": "BadSource$LacksTypeTransformation"}
    converter = {"value.converter": "BadSource$LacksTypeConverter"}
    bad_worker.create(unique, **config(unique, "BadSource$LacksType", **steps, **converter))
    assert wait_for_values(broker.bootstrap_servers, unique, 3)[:3] == [b"number 1", b"number 2", b"number 3"]


def test_broken_jars_are_left_out_with_a_warning(bad_worker: WorkerProcess) -> None:
    for jar in ("truncated.jar", "text.jar"):
        assert re.search(rf"WARN.*{jar} is no jar that can be read, and its plugins are left out: ", bad_worker.log)


@pytest.mark.parametrize(
    "deed, reason",
    [
        ("exit", f"ended with status 3{EXITED}"),
        ("halt", f"ended with status 3{HALTED}"),
        ("loop", r"BadSource\.validate of connector \S+ did not return within 4 s"),
        ("memory", r"ended with status 3; it printed last: .*java\.lang\.OutOfMemoryError"),
        ("crash", CRASHED),
        ("missing", f"NoClassDefFoundError: Missing. .*{HINT}"),
        ("long", r"ConnectException: very very.*characters left out"),
        ("null", r"BadSource\.validate: \S+ConnectException$"),
        ("cycle", r"BadSource\.validate: \S+ConnectException: first$"),
        ("stack", r"StackOverflowError"),
    ],
)
def test_a_validation(bad_worker: WorkerProcess, unique: str, deed: str, reason: str) -> None:
    body = {"name": unique, **config(unique, mood=f"validate:{deed}")}
    answer = bad_worker.rest.put("/connector-plugins/BadSource/config/validate", json=body)
    assert answer.status_code == 400
    assert re.search(reason, message := answer.json()["message"])
    assert len(message) < 3000
    assert "\n" not in message


@pytest.mark.parametrize(
    "mood, reason",
    [
        ("start:exit", DIED + EXITED),
        ("start:halt", DIED + HALTED),
        ("start:loop", HANGS.format("start")),
        ("start:memory", rf"{DIED}; it printed last: .*java\.lang\.OutOfMemoryError"),
        ("start:crash", CRASHED),
        ("start:long", r"BadSource\.start: \S+ConnectException: very very"),
        ("start:missing", HINT),
        ("taskConfigs:exit", DIED + EXITED),
        ("taskConfigs:loop", HANGS.format("taskConfigs")),
    ],
)
def test_a_connector_fails_with_one_line(bad_worker: WorkerProcess, unique: str, mood: str, reason: str) -> None:
    bad_worker.create(unique, **config(unique, mood=mood))
    assert re.search(reason, trace(bad_worker, unique))


def test_a_connector_fails_whose_task_class_is_of_a_newer_java(bad_worker: WorkerProcess, unique: str) -> None:
    bad_worker.create(unique, **config(unique, "BadSource$WithNewerTask"))
    assert re.search(rf"taskClass: .*BadSource\$NewerTask has been {NEWER}", trace(bad_worker, unique))


@pytest.mark.parametrize("deed", ["loop", "exit", "null"])
def test_a_connector_that_does_not_stop_is_deleted(bad_worker: WorkerProcess, unique: str, deed: str) -> None:
    bad_worker.create(unique, **config(unique, mood=f"stop:{deed}"))
    bad_worker.wait_for_tasks(unique)
    bad_worker.delete(unique)
    wait_for(lambda: f"Connector {unique} failed to stop" in bad_worker.log, 30, "its end")


@pytest.mark.parametrize("deed", ["print", "threads", "fork"])
def test_what_a_connector_leaves_behind(bad_worker: WorkerProcess, unique: str, deed: str) -> None:
    """Programs that it started end with it; so do its threads, and most of what it prints is dropped."""
    bad_worker.rest.put("/connector-plugins/BadSource/config/validate", json={"name": unique, **config(unique)})
    size, before = len(bad_worker.log), hosts(bad_worker)
    bad_worker.create(unique, **config(unique, mood=f"start:{deed}", seconds=seconds(bad_worker)))
    bad_worker.wait_for_tasks(unique)
    assert deed != "fork" or len(programs(bad_worker)) == 2
    assert len(bad_worker.log) - size < 5 << 20
    started = hosts(bad_worker) - before
    assert started, "the host of this connector alone"
    bad_worker.delete(unique)
    wait_for(lambda: not any(map(alive, started)), 30, "the end of its host")


def hosts(worker: WorkerProcess) -> set[psutil.Process]:
    """Return the processes of connectors' JVMs, and of those for all calls that need no connector started."""
    return {each for each in worker.descendants() if "headrace.java.host_process" in command_of(each)}


def test_what_a_task_prints_fills_no_log(bad_worker: WorkerProcess, broker: EmbeddedBroker, unique: str) -> None:
    size = len(bad_worker.log)
    bad_worker.create(unique, **config(unique, mood="task.start:print"))
    assert wait_for_values(broker.bootstrap_servers, unique, 3)[:3] == [b"number 1", b"number 2", b"number 3"]
    assert bad_worker.task_states(unique) == ["RUNNING"]
    printed = bad_worker.log[size:]
    assert f"[{unique}|task-0] printed: 0123456789" in printed
    assert len(printed) < 5 << 20


def test_a_poll_that_never_returns_is_stalled(bad_worker: WorkerProcess, unique: str) -> None:
    bad_worker.create(unique, **config(unique, mood="poll:loop", **{"task.stalled.timeout.ms": "3000"}))

    def stalled() -> bool:
        health = bad_worker.rest.get(f"/connectors/{unique}/health").json()
        return health.get("verdict") == "stalled" and "poll" in health["why"]

    wait_for(stalled, 30, lambda: str(bad_worker.rest.get(f"/connectors/{unique}/health").json()))
    assert bad_worker.task_states(unique) == ["RUNNING"]


@pytest.mark.parametrize(
    "more, reason",
    [
        ({"mood": "poll:memory"}, r"poll of BadSource\$BadTask: java\.lang\.OutOfMemoryError: .*-Xmx"),
        ({"mood": "poll:missing"}, HINT),
        ({"mood": "poll:newer"}, NEWER),
        ({"mood": "poll:option"}, r"bad\.option=here, heap 1[12]\d MB"),
        ({"mood": "poll:option", "connector.java.options": "-Xmx200m"}, r"bad\.option=here, heap 19\d MB"),
        ({"mood": "poll:long"}, r"poll of BadSource\$BadTask: \S+ConnectException: very very"),
        ({"mood": "poll:cycle"}, r"poll of BadSource\$BadTask: \S+ConnectException: first$"),
        ({"mood": "task.start:null"}, r"start of BadSource\$BadTask: \S+ConnectException$"),
        ({"connector.class": "BadSource$WithoutTasks"}, r"BadSource\$ThrowingTask: \S+IllegalStateException: no lic"),
        (
            {"connector.java.options": "-Xms900m -Xmx200m"},
            r"options .*-Xms900m -Xmx200m: .*larger value than the maximum",
        ),
        ({"value.converter": "BadSource$BadConverter", "value.converter.mood": "convert:missing"}, HINT),
        (
            {"value.converter": "BadSource$BadConverter", "value.converter.mood": "convert:cycle"},
            r"VALUE_CONVERTER .*ConnectException: first\b",
        ),
    ],
)
def test_a_task_fails_with_one_line(bad_worker: WorkerProcess, unique: str, more: dict[str, str], reason: str) -> None:
    bad_worker.create(unique, **{**config(unique), **more})
    assert re.search(reason, trace(bad_worker, unique, task=True))


@pytest.mark.parametrize("mood", ["task.start:exit", "poll:exit", "poll:forkexit"])
def test_a_task_fails_that_ends_its_process(bad_worker: WorkerProcess, unique: str, mood: str) -> None:
    """Once, until it is restarted: another process would end in the same way. Programs that it has started end, too."""
    bad_worker.create(unique, **config(unique, mood=mood, seconds=seconds(bad_worker)))
    for restarts in range(2):
        assert re.fullmatch(rf"its process \d+ was lost{EXITED}\(3\)", trace(bad_worker, unique, task=True))
        assert bad_worker.log.count(f"[{unique}|task-0] printed: {EXIT_LINE}") == restarts + 1
        assert bad_worker.rest.post(f"/connectors/{unique}/tasks/0/restart").status_code == 204
        wait_for(lambda: bad_worker.task_states(unique) != ["FAILED"], 30, "its restart")


@pytest.mark.parametrize(
    "deed, death, said",
    [
        ("halt", r": it ended by itself with status 3, as after System\.exit or Runtime\.halt in Java, or .*", None),
        ("crash", ": it was killed, by a lack of memory for instance, or has crashed", "#  SIGSEGV"),
    ],
)
def test_a_task_whose_process_dies_is_restarted(
    bad_worker: WorkerProcess, unique: str, deed: str, death: str, said: str | None
) -> None:
    """With the reason. Programs that it has started end, too; so does what its other attempts start."""
    bad_worker.create(unique, **config(unique, mood=f"poll:{deed}", seconds=seconds(bad_worker)))

    def restarting() -> list[str]:
        tasks = bad_worker.status(unique).get("tasks", [])
        return [each["trace"] for each in tasks if each["state"] == "RESTARTING"]

    (reason,) = wait_for(restarting, 60, "its restart")
    assert re.fullmatch(rf"its process \d+ was lost{death}", reason)
    audit = f'what="restart of {unique}-0" connector={unique} result=done reason="{reason}"'
    printed = [f"[{unique}|task-0] printed: {said}"] if said else []
    for line in (audit, *printed):
        wait_for(lambda line=line: line in bad_worker.log, 30, line)  # type: ignore[misc]


@pytest.mark.parametrize("mood", ["poll:loop", "task.stop:loop", "poll:fork"])
def test_a_task_ends_with_all_that_it_has_started(bad_worker: WorkerProcess, unique: str, mood: str) -> None:
    before = {process.pid for process in bad_worker.task_processes()}
    bad_worker.create(unique, **config(unique, mood=mood, seconds=seconds(bad_worker)))
    bad_worker.wait_for_tasks(unique)
    if mood == "poll:fork":
        wait_for(lambda: programs(bad_worker), 30, "its programs")
    bad_worker.delete(unique)
    wait_for(lambda: {process.pid for process in bad_worker.task_processes()} <= before, 60, "the end of its process")


@pytest.mark.parametrize("cls, reason", [("ExitsWhenAsked", "ended with status 3"), ("NewerTransformation", "Java")])
def test_a_transformation_that_cannot_be_asked(bad_worker: WorkerProcess, unique: str, cls: str, reason: str) -> None:
    more = {"transforms": "bad", "transforms.bad.type": f"BadSource${cls}"}
    body = {"name": unique, **config(unique), **more}
    answer = bad_worker.rest.put("/connector-plugins/BadSource/config/validate", json=body)
    errors = [error for each in answer.json()["configs"] for error in each["value"]["errors"]]
    assert any("this transformation is broken" in error and reason in error for error in errors)


def test_a_connector_that_defines_no_properties_may_read_any(bad_worker: WorkerProcess, unique: str) -> None:
    body = {"name": unique, **config(unique, **{"task.max": "1", "transforms.x.type": "Filter"})}
    answer = bad_worker.rest.put("/connector-plugins/BadSource/config/validate", json=body)
    assert answer.json()["warnings"] == [
        "task.max: did you mean 'tasks.max'? The connector does not say which properties it reads",
        "transforms.x.type: transforms does not list 'x'",
    ]


def test_system_properties_of_the_worker_reach_connectors(bad_worker: WorkerProcess, unique: str) -> None:
    bad_worker.create(unique, **config(unique, mood="start:option"))
    line = trace(bad_worker, unique)
    heap = re.search(r"bad\.option=here, heap (\d+) MB", line)
    assert heap, line
    assert int(heap[1]) > 200, "the heap is the host's"


def test_levels_of_what_a_plugin_logs(bad_worker: WorkerProcess, unique: str) -> None:
    """In the context of the connector, and of its task."""
    for mood, who in (("start:log", "worker"), ("poll:log", "task-0")):
        bad_worker.create(f"{unique}-{who}", **config(unique, mood=mood))
        line = rf"WARNING \[{unique}-{who}\|{who}\] printed: WARN BadSource - low on disk"
        wait_for(lambda line=line: re.search(line, bad_worker.log), 30, line)  # type: ignore[misc]
