# SPDX-License-Identifier: Apache-2.0
"""What a quickstart prints, and what it makes of signals."""

from __future__ import annotations

import io
import shlex
import signal
import sys
from pathlib import Path

import pytest
from rich.console import Console

from headrace.cli.quickstart.command import Interruption
from headrace.cli.quickstart.comparison import Comparison
from headrace.cli.quickstart.connector_pair import lines_to_parquet, orders_to_parquet
from headrace.cli.quickstart.observation import Health, Observation, healths_in, transactions_in
from headrace.cli.quickstart.summary import lines_at_end, lines_while_running, program
from headrace.cli.quickstart.view import Lines, LiveView, view_for

SEEN = Observation(1200, 60, 1180, {"orders": Health("healthy", "It runs."), "sink": Health("stalled", "No [commit].")})
OUT = Path("/data/a b/orders")


def test_the_transactions_of_all_source_tasks_are_added_up() -> None:
    name = "kafka_connect_source_task_transactions_committed_total"
    text = f'# TYPE {name} counter\n{name}{{connector="a",task="0"}} 12.0\n{name}{{connector="b",task="0"}} 3.0\n'
    assert transactions_in(text) == 15
    assert transactions_in("") == 0


def test_the_health_of_each_connector() -> None:
    answer = {"a": {"health": {"verdict": "degraded", "why": "It retries."}}, "b": {}}
    assert healths_in(answer) == {"a": Health("degraded", "It retries."), "b": Health("unknown", "")}


def test_lines_have_each_step_and_counts_every_few_seconds() -> None:
    out, now = io.StringIO(), 0.0
    view = Lines(Console(file=out, width=20), lambda: now)
    view.wait("the broker starts")
    view.done("Kafka broker at 127.0.0.1:21731", 2.04)
    for now in (3.0, 4.0, 9.0):
        view.count(SEEN, now)
    view.say(("  export X",))
    view.close()
    assert out.getvalue().splitlines() == [
        "   2.0 s  Kafka broker at 127.0.0.1:21731",
        "   3.0 s  1,200 records, 60 transactions, 1,180 rows in Parquet; orders healthy, sink stalled",
        "   9.0 s  1,200 records, 60 transactions, 1,180 rows in Parquet; orders healthy, sink stalled",
        "  export X",
    ]


def test_a_terminal_gets_a_view_that_has_everything_at_its_end() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    view = view_for(console)
    assert isinstance(view, LiveView)
    view.done("Kafka broker at 127.0.0.1:21731", 2.04)
    view.wait("Spark starts")
    view.count(SEEN, 36)
    view.say(("export HEADRACE_URL=http://127.0.0.1:8083",))
    view.close()
    assert isinstance(console.file, io.StringIO)
    last = console.file.getvalue().rpartition("\x1b[2K")[2]
    for text in ("2.0 s", "127.0.0.1:21731", "1,200", "60", "1,180", "stalled", "No [commit].", "HEADRACE_URL"):
        assert text in last, text
    assert "Spark starts" not in last


def test_what_is_no_terminal_gets_lines() -> None:
    assert isinstance(view_for(Console(file=io.StringIO())), Lines)


def test_the_commands_for_another_terminal() -> None:
    lines = lines_while_running("http://127.0.0.1:8123", orders_to_parquet(OUT, 20, None), OUT)
    assert "console: http://127.0.0.1:8123/console" in lines
    assert "  export HEADRACE_URL=http://127.0.0.1:8123" in lines
    assert any(line.endswith("headrace connectors describe orders") for line in lines)


def test_the_summary_counts_and_reads_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    lines = lines_at_end(Comparison(1180, 1180, 0, 0), orders_to_parquet(OUT, 20, None), OUT, None)
    text = "\n".join(lines)
    assert text.count(" 1,180\n") == 2
    assert f"records in topic orders {'1,180':>17}" in lines
    assert "Each record is there exactly once." in lines
    [command] = [line for line in lines if " -c " in line]
    assert shlex.split(command) == ["python", "-c", 'import pandas; print(pandas.read_parquet("/data/a b/orders"))']
    assert "Remove the files: rm -r '/data/a b'" in lines
    assert "--directory" not in text


def test_the_summary_says_what_is_not_exactly_once_and_how_to_continue() -> None:
    pair = lines_to_parquet(OUT, Path("/data/my lines"))
    lines = lines_at_end(Comparison(5, 5, 1, 1), pair, OUT, OUT.parent)
    assert "NOT exactly once." in lines
    assert any(line.endswith("quickstart --directory '/data/a b' --file '/data/my lines'") for line in lines)


def test_a_program_that_is_not_found_is_named_by_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert program("headrace") == str(Path(sys.executable).with_name("headrace"))


class Process:
    """Signals at given times, and how the process is ended."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ended: list[int] = []
        self.interruption = Interruption(lambda: self.now, self.ended.append)

    def signal(self, at: float, number: int = signal.SIGINT) -> bool:
        """Whether it interrupts what runs."""
        self.now = at
        try:
            self.interruption.on_signal(number, None)
        except KeyboardInterrupt:
            return True
        return False


def test_signals_interrupt_until_everything_is_being_stopped_and_then_end_the_process(
    capfd: pytest.CaptureFixture[str],
) -> None:
    process = Process()
    assert process.signal(10, signal.SIGTERM)
    assert process.interruption.exit_code == 143
    assert process.signal(12)
    process.interruption.stop()
    assert not process.signal(14)
    assert process.ended == [130]
    assert capfd.readouterr().err == "Forced to end\n"


def test_a_signal_that_comes_twice_at_once_is_one() -> None:
    process = Process()
    assert process.signal(10, signal.SIGTERM)
    assert not process.signal(10.4, signal.SIGTERM)
    process.interruption.stop()
    assert not process.signal(10.9, signal.SIGTERM)
    assert process.ended == []
