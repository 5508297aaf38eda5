# SPDX-License-Identifier: Apache-2.0
"""SingerSource with real processes: a tap that counts, and has bad habits."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.api.plugin_metrics import Counter
from headrace.api.record import SourceRecord
from headrace.api.source import ConnectorTransactionBoundaries, ExactlyOnceSupport, TransactionContext
from headrace.connectors.singer.singer_source import SingerSourceConnector, SingerSourceTask
from tests.support.polling import wait_for

NUMBERED = Path(__file__).parents[2] / "plugins" / "numbered_tap.py"
COMMAND = f"{sys.executable} {NUMBERED}"
PARTITION = {"tap": Path(sys.executable).name, "streams": "*"}


class Transactions(TransactionContext):
    def __init__(self) -> None:
        self.commits: list[SourceRecord | None] = []
        self.aborts = 0

    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        self.commits.append(record)

    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        assert record is None
        self.aborts += 1


class Context:
    """What a task gets from the runtime, in memory."""

    def __init__(self, stored: dict[str, Any] | None, transactions: Transactions | None) -> None:
        self._stored = stored
        self.transaction_context = transactions
        self.asked: list[Mapping[str, Any]] = []
        self.counters: dict[tuple[str, ...], Counter] = {}

    @property
    def offset_storage_reader(self) -> Context:
        return self

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        self.asked.append(partition)
        return self._stored

    def plugin_metrics(self) -> Context:
        return self

    def counter(self, name: str, description: str, tags: Mapping[str, str] | None = None) -> Counter:
        counter = self.counters[name, *(tags or {}).values()] = Counter()
        return counter


Start = Callable[..., SingerSourceTask]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a task of the tap with this configuration; nothing of it is left afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tasks = []

    def make(
        stored: dict[str, Any] | None = None, transactions: Transactions | None = None, props: Any = (), **config: Any
    ) -> SingerSourceTask:
        task = SingerSourceTask()
        task.initialize(Context(stored, transactions))  # type: ignore[arg-type]
        tasks.append(task)
        task.start({"singer.command": COMMAND, "singer.config": json.dumps({"count": 25, **config}), **dict(props)})
        return task

    yield make
    for task in tasks:
        task.stop()
        assert task.poll() is None
    wait_for(lambda: not processes(tmp_path), 20, lambda: f"the ends of {processes(tmp_path)}")
    wait_for(lambda: not list(tmp_path.glob("headrace-singer-*")), 10, "the end of files")


def processes(directory: Path) -> list[str]:
    """Guards and taps that run with files in the directory, and what the tap has forked."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        forked = process.info["cmdline"] == [sys.executable, "-c", "import time; time.sleep(3600)"]
        if (str(directory) in line or forked) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


def polled(task: SingerSourceTask, count: int, seconds: float = 30) -> list[SourceRecord]:
    found: list[SourceRecord] = []

    def enough() -> bool:
        found.extend(task.poll() or [])
        return len(found) >= count

    wait_for(enough, seconds, lambda: f"{count} records, of which there are {len(found)}")
    return found


def failure(task: SingerSourceTask) -> ConnectError:
    """The error of one of its polls."""
    caught: list[ConnectError] = []

    def failed() -> bool:
        try:
            task.poll()
        except ConnectError as error:
            caught.append(error)
        return bool(caught)

    wait_for(failed, 60, "an error")
    return caught[0]


def test_records_with_the_states_that_cover_them(start: Start) -> None:
    records = polled(start(), 25)
    assert [record.value.get("n") for record in records] == list(range(25))
    assert [record.key.get("n") for record in records] == list(range(25))
    states = [record.source_offset and json.loads(record.source_offset["state"]) for record in records]
    nine, nineteen, last = ({"bookmarks": {"numbers": n}} for n in (9, 19, 24))
    assert states == [None] * 9 + [nine] * 10 + [nineteen] * 5 + [last]
    assert records[-1].source_partition == PARTITION


def test_it_continues_from_its_state_and_runs_again(start: Start) -> None:
    task = start({"state": '{"bookmarks": {"numbers": 19}}'}, props={"singer.interval.ms": "0"})
    assert [record.value.get("n") for record in polled(task, 5)] == [20, 21, 22, 23, 24]
    runs = task._run_count
    wait_for(lambda: task.poll() or runs.value() > 1, 30, "another run")


def test_a_run_without_a_last_state_sends_its_rest_with_the_former_one(start: Start) -> None:
    records = polled(start(state_at_end=False), 25)
    assert json.loads(records[-1].source_offset["state"]) == {"bookmarks": {"numbers": 19}}  # type: ignore[index]


def test_a_run_without_a_last_state_is_not_exact(start: Start) -> None:
    task = start(state_at_end=False, props={"singer.exactly.once": "true"})
    assert len(polled(task, 20)) == 20
    assert "has ended with 5 records, or more, after its last STATE" in str(failure(task))


def test_transactions_end_at_states(start: Start) -> None:
    transactions = Transactions()
    records = polled(start(None, transactions), 25)
    assert [end and end.value.get("n") for end in transactions.commits] == [9, 19, 24]
    assert all(any(end is each for each in records) for end in transactions.commits)


def test_a_run_that_fails_is_repeated_from_its_last_state(start: Start, tmp_path: Path) -> None:
    once = tmp_path / "once"
    once.touch()
    task = start(die_at=14, once=str(once))
    first = polled(task, 10)
    error = failure(task)
    assert isinstance(error, RetriableError)
    assert "ended with code 1; it said: the database has gone away" in str(error)
    assert [record.value.get("n") for record in [*first, *polled(task, 15)]] == list(range(25))


def test_what_was_sent_before_its_state_is_aborted_when_the_run_fails(start: Start, tmp_path: Path) -> None:
    once, transactions = tmp_path / "once", Transactions()
    once.touch()
    props = {"singer.held.records": "2", "singer.exactly.once": "true"}
    task = start(None, transactions, props, die_at=14, once=str(once))
    first = polled(task, 14)
    assert [record.value.get("n") for record in first] == list(range(14))
    assert failure(task)
    assert transactions.aborts == 1
    assert [record.value.get("n") for record in polled(task, 15)] == list(range(10, 25))


def test_a_tap_that_fails_again_and_again(start: Start) -> None:
    task = start(props={"singer.retries": "1", "catalog": "none"}, habit="dies")
    assert isinstance(failure(task), RetriableError)
    error = failure(task)
    assert not isinstance(error, RetriableError)
    assert "no such database (run 2 in a row that failed; singer.retries=1)" in str(error)


@pytest.mark.parametrize(
    ("habit", "text"),
    [
        ("garbage", "a line is no JSON"),
        ("prints", "a line is no JSON .*: Connected to the database"),
        ("batch", "no message of Singer that is known .*BATCH"),
        ("no schema", "a RECORD of stream 'others' came before its SCHEMA"),
        ("long line", "a line is longer than 16777216 bytes"),
        ("dies", "ended with code 1; it said: no such database"),
        ("killed", "ended with code 137"),
    ],
)
def test_bad_habits(start: Start, habit: str, text: str) -> None:
    task = start(props={"catalog": "none"}, habit=habit)
    error = failure(task)
    assert re.search(text, str(error)), str(error)
    assert "\n" not in str(error)


def test_a_tap_that_floods_standard_error(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headrace"):
        assert len(polled(start(habit="flood"), 25, 60)) == 25
    assert 0 < len(caplog.records) < 10_000
    assert any("more lines of its standard error are not logged" in each.getMessage() for each in caplog.records)


def test_measurements_of_the_tap_are_metrics(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headrace"):
        task = start(metrics=True)
        assert len(polled(task, 25)) == 25
        counters = task.context.counters  # type: ignore[attr-defined]
        wait_for(lambda: task.poll() or ("tap-record-count-total", "numbers") in counters, 30, lambda: f"{counters}")
    assert counters["tap-record-count-total", "numbers"].value() == 25
    assert not any("METRIC" in each.getMessage() for each in caplog.records)


def test_activated_versions_are_records_that_states_cover(start: Start) -> None:
    props = {"singer.version.field": "version", "singer.versions.topic": "versions"}
    *rows, last = polled(start(version=3, props=props), 26)
    assert [each.value.get("version") for each in rows] == [3] * 25
    assert (last.topic, last.value.as_dict()) == ("versions", {"stream": "numbers", "topic": "numbers", "version": 3})
    assert json.loads((last.source_offset or {})["state"]) == {"bookmarks": {"numbers": 24}}


def test_activated_versions_have_no_effect_by_default(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headrace"):
        task = start(version=3)
        assert len(polled(task, 25)) == 25
        wait_for(lambda: task.poll() or "ACTIVATE_VERSION" in caplog.text, 30, "a line of the log")


def test_a_tap_that_leaves_a_process_with_its_pipes(start: Start) -> None:
    task = start(habit="fork", props={"catalog": "none", "singer.interval.ms": "100"})
    assert len(polled(task, 25)) == 25
    wait_for(lambda: task.poll() or task._run_count.value() > 1, 30, "another run")


def test_a_tap_that_never_ends_is_stopped(start: Start) -> None:
    task = start(habit="endless", props={"catalog": "none"})
    assert task.poll() is None
    begun = time.monotonic()
    task.stop()
    assert task.poll() is None
    assert time.monotonic() - begun < 5


def test_a_discovery_that_never_ends(start: Start) -> None:
    task = start(habit="endless", props={"singer.discovery.timeout.ms": "300"})
    assert "takes more than 300 ms (singer.discovery.timeout.ms)" in str(failure(task))


def test_a_discovery_that_prints_no_catalog(start: Start) -> None:
    error = failure(start(habit="prints"))
    assert "has printed no catalog with --discover" in str(error)
    assert isinstance(error, ConfigError)


def test_streams_that_match_no_pattern(start: Start) -> None:
    error = failure(start(props={"streams.include": "orders*"}))
    assert "streams.include: no stream is selected by it and streams.exclude: the streams" in str(error)
    assert "are numbers" in str(error)


@pytest.mark.parametrize(
    ("props", "text"),
    [
        ({}, "singer.command: set it to the command line of a tap, or set tap to its name"),
        ({"tap": "tap-x", "singer.command": "x"}, "'tap-x' for configuration tap: singer.command is set, too"),
        ({"singer.command": '"'}, "singer.command: it is no command line"),
        ({"singer.command": "x", "stream.topics": "orders"}, "'orders' is not of the form stream:topic"),
        ({"singer.command": "x", "streams.metadata": "[1]"}, "streams.metadata: it is no JSON object"),
        ({"singer.command": "x", "catalog": "/not/there"}, "catalog: the file cannot be read"),
        ({"singer.command": "x", "catalog": "/dev/zero"}, "catalog: the file cannot be read: it is no regular file"),
        ({"singer.command": "x", "catalog": "/"}, "catalog: the file cannot be read: Is a directory"),
        ({"singer.command": "x", "catalog": "a\0b"}, "catalog: the file cannot be read: it is no path"),
        ({"singer.command": "x", "singer.catalog.option": "--exec"}, "one of: --catalog, --properties"),
        ({"singer.command": "x", "catalog": "{}"}, "catalog: it is no JSON object with a list of streams"),
        ({"singer.command": "x", "catalog": "none", "streams.apart": "true"}, "cannot read streams apart"),
        ({"singer.command": "x", "singer.timestamps": "epoch"}, "String must be one of: logical, text"),
    ],
)
def test_mistakes_in_the_configuration(props: dict[str, str], text: str) -> None:
    errors = [error for value in SingerSourceConnector().validate(props) for error in value.error_messages]
    assert len(errors) == 1
    assert text in errors[0]


@pytest.mark.parametrize(
    ("props", "text"),
    [
        ({"singer.command": "no-such-tap --verbose"}, "there is no executable no-such-tap on this machine"),
        ({"singer.command": "/not/there"}, "there is no executable /not/there on this machine"),
        ({"singer.config": '{"password": "topsecret"'}, "it of singer.config is no JSON object"),
        ({"singer.config": "/not/there.json"}, "neither JSON text nor a file that can be read: No such file"),
        ({"singer.config": "/dev/zero"}, "neither JSON text nor a file that can be read: it is no regular file"),
    ],
)
def test_what_is_not_on_the_machine(start: Start, props: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text) as caught:
        start(props=props)
    assert "topsecret" not in str(caught.value)


def test_a_pipe_without_a_writer_blocks_no_validation(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    props = {"singer.command": "x", "catalog": str(tmp_path / "pipe")}
    errors = [error for value in SingerSourceConnector().validate(props) for error in value.error_messages]
    assert ["it is no regular file" in error for error in errors] == [True]


def test_a_tap_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DATA_DIR", str(tmp_path))
    task = SingerSourceTask()
    task.initialize(Context(None, None))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"'tap-x' for configuration tap: install it .*headrace singer install tap-x"):
        task.start({"tap": "tap-x"})


def test_streams_apart_have_runs_and_offsets_of_their_own(start: Start) -> None:
    connector = SingerSourceConnector()
    config = json.dumps({"count": 3, "streams": ["c", "a", "b"]})
    connector.start({"singer.command": COMMAND, "singer.config": config, "streams.apart": "true"})
    shares = [json.loads(each["task.streams"]) for each in connector.task_configs(2)]
    assert shares == [["a", "c"], ["b"]]
    task = start(count=3, streams=["a", "b", "c"], props={"task.streams": '["a", "c"]', "streams.apart": "true"})
    records = polled(task, 6)
    assert [(each.topic, each.value.get("n")) for each in records] == [(s, n) for s in "ac" for n in range(3)]
    assert [each.source_partition["streams"] for each in records if each.source_partition] == ["a", "c"]


def test_only_selected_streams_are_read_into_their_topics(start: Start) -> None:
    props = {"streams.exclude": "b", "topic.prefix": "x.", "stream.topics": "a:letters"}
    records = polled(start(count=1, streams=["a", "b", "c"], props=props), 2)
    assert [record.topic for record in records] == ["letters", "x.c"]


def test_one_task_reads_all_streams_unless_they_are_apart() -> None:
    connector = SingerSourceConnector()
    connector.start({"singer.command": COMMAND, "singer.config": json.dumps({"count": 3, "streams": ["a", "b"]})})
    assert [json.loads(each["task.streams"]) for each in connector.task_configs(4)] == [["*"]]


@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_catalog_of_the_users_is_used_without_discovery(start: Start, tmp_path: Path, in_a_file: bool) -> None:
    names = {"a": False, "b": True, "c": True}
    chosen = [{"metadata": {"selected": each}, "breadcrumb": []} for each in names.values()]
    streams = [
        {"tap_stream_id": name, "stream": name, "schema": {"type": "object", "properties": {}}, "metadata": [each]}
        for name, each in zip(names, chosen, strict=True)
    ]
    text = json.dumps({"streams": streams})
    (tmp_path / "catalog.json").write_text(text)
    catalog = {"catalog": str(tmp_path / "catalog.json") if in_a_file else text, "streams.exclude": "c"}
    records = polled(start(count=2, streams=["a", "b", "c"], habit="undiscoverable", props=catalog), 2)
    assert [(record.topic, record.value["n"]) for record in records] == [("b", 0), ("b", 1)]


def test_lines_of_its_standard_error_are_in_the_log(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headrace"):
        assert len(polled(start(habit="warns"), 25)) == 25
    name = COMMAND.split()[0].rpartition("/")[2]
    logged = [(each.levelno, each.getMessage()) for each in caplog.records]
    assert (logging.WARNING, f"{name}: WARNING few numbers are left") in logged


def test_what_it_promises() -> None:
    connector, props = SingerSourceConnector(), {"singer.command": "x"}
    assert connector.exactly_once_support(props) is None
    exact = connector.exactly_once_support({**props, "singer.exactly.once": "true"})
    assert exact is ExactlyOnceSupport.SUPPORTED
    assert connector.can_define_transaction_boundaries(props) is ConnectorTransactionBoundaries.SUPPORTED


def test_offsets_of_operators() -> None:
    connector, props = SingerSourceConnector(), {"singer.command": "/opt/tap-x --verbose"}
    partition = {"tap": "tap-x", "streams": "*"}
    assert connector.alter_offsets(props, [(partition, {"state": '{"bookmarks": {}}'}), ({"a": 1}, None)])
    for offset in ({"state": "{"}, {"state": "[]"}, {"state": 5}, {}, {"state": "{}", "more": 1}):
        with pytest.raises(ConnectError, match="'state'"):
            connector.alter_offsets(props, [(partition, offset)])
    for other in ({"tap": "tap-y", "streams": "*"}, {"tap": "tap-x", "streams": "a"}, {"tap": "tap-x"}):
        with pytest.raises(ConnectError, match="There is no source partition"):
            connector.alter_offsets(props, [(other, {"state": "{}"})])


def test_secrets_of_the_worker_are_not_in_the_taps_environment(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_SECRET", "topsecret")
    monkeypatch.setenv("KEPT", "yes")
    script = tmp_path / "tap.sh"
    script.write_text('env >&2\nls -l "$2" >&2\nexit 1\n')
    text = "|".join(failure(start(props={"singer.command": f"sh {script}", "catalog": "none"})).args)
    assert "topsecret" not in text
    assert "-rw------- " in text
    assert os.environ["PYSPARK_SECRET"] == "topsecret"
