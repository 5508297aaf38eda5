# SPDX-License-Identifier: Apache-2.0
"""`make session`: record a terminal session on a real worker for the docs, as asciicast and as text.

The steps say what each command has to show, so the docs cannot show what headrace does not do; a test runs them too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx2

from headrace.broker.child_process import start_child
from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import free_port
from scripts.terminal_recording import Recording, RecordingError, Step, record

DOCS: Final = Path(__file__).resolve().parent.parent / "docs" / "session"
_START_S: Final = 120.0
_CONNECTORS: Final = {
    "orders.yaml": """\
orders:
  connector.class: OrdersSource
  topic: orders
  throughput: 10
  value.converter: JsonConverter
  value.converter.schemas.enable: false
  value.converter.decimal.format: NUMERIC
  transforms: renamed
  transforms.renamed.type: ReplaceField$Value
  transforms.renamed.renames: id:number
""",
    "archive.yaml": """\
archive:
  connector.class: FileStreamSink
  topics: orders
  file: archive.txt
  value.converter: StringConverter
""",
}
STEPS: Final = (
    Step("cat connectors/orders.yaml", "OrdersSource"),
    Step("headrace lint connectors", ""),
    Step("headrace preview -f connectors/orders.yaml --records 1", "renamed"),
    Step("headrace apply -f connectors --yes", "2 of 2 connectors are as planned and healthy"),
    Step("headrace connectors describe orders", "healthy"),
    Step("headrace topics head orders -n 2", "quantity"),
    Step("headrace top --once", "archive"),
    Step("sed -i 's/throughput: 10/throughput: 100/' connectors/orders.yaml", ""),
    Step("headrace plan -f connectors", "1 to change"),
    Step("headrace apply -f connectors --yes", "2 of 2 connectors are as planned and healthy"),
    Step("headrace connectors stop orders --wait", "STOPPED"),
    Step("headrace offsets get orders", "orders"),
    Step("headrace offsets reset orders --dry-run", "orders"),
    Step("headrace connectors delete orders archive --yes", "deleted"),
)


def main(directory: Path = DOCS) -> None:
    """Write the recording to a directory. Raise RecordingError if a command does something else than its step says."""
    recording = Recording("headrace: from a file to a running connector, and a change of it")
    with tempfile.TemporaryDirectory(prefix="headrace-session-") as temporary:
        place = Path(temporary)
        with EmbeddedBroker(place / "broker", port=0) as broker, _worker(place, broker.bootstrap_servers) as url:
            home = place / "shop"
            (home / "connectors").mkdir(parents=True)
            for name, text in _CONNECTORS.items():
                (home / "connectors" / name).write_text(text)
            record(recording, STEPS, _environment(url, home), home)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "session.cast").write_text(recording.asciicast())
    (directory / "session.txt").write_text(recording.text())


def _environment(url: str, home: Path) -> dict[str, str]:
    commands = Path(sys.executable).parent
    return {
        "HEADRACE_URL": url,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": f"{commands}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
    }


@contextmanager
def _worker(place: Path, brokers: str) -> Iterator[str]:
    """Run a worker whose files are in ``place``; yield its URL once it answers."""
    url = f"http://127.0.0.1:{free_port()}"
    example = Path(__file__).resolve().parent.parent / "examples" / "worker.properties"
    properties = place / "worker.properties"
    lines = example.read_text() + f"bootstrap.servers={brokers}\nlisteners={url}\n"
    properties.write_text(lines)
    log = place / "worker.log"
    # In its own directory, where connectors write files whose paths are relative.
    command = ["sh", "-c", 'cd "$0" && exec "$@"', str(place), sys.executable, "-m", "headrace", "distributed"]
    worker = start_child([*command, str(properties)], log, dict(os.environ))
    try:
        _wait_for(url, worker, log)
        yield url
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()


def _wait_for(url: str, worker: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and worker.poll() is None:
        try:
            if httpx2.get(f"{url}/health").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.1)
    raise RecordingError(f"the worker does not answer: {log.read_text(errors='replace')[-2000:]}")


if __name__ == "__main__":
    try:
        main()
    except RecordingError as error:
        sys.exit(f"Error: {error}")
