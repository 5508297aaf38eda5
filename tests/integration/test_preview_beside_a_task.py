# SPDX-License-Identifier: Apache-2.0
"""A preview of a connector leaves its running task alone: its process, its offsets and its transactions."""

from __future__ import annotations

from pathlib import Path

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.integration.previews import lines_config
from tests.support.polling import wait_for
from tests.support.topics import read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess

PREVIEWS, LINES = 3, 50


def test_a_running_task_is_not_disturbed(
    previewing: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """The file grows before, between and after the previews; each line has the offset that it has without them."""
    file, bootstrap = tmp_path / "lines.txt", broker.bootstrap_servers
    config = lines_config(unique, file, **{"transaction.boundary": "poll", "batch.size": str(LINES)})
    written: list[bytes] = []

    def grow() -> None:
        """Append lines at once, and wait for them: they are one transaction, with one marker behind its records."""
        lines = [b"line %d" % (len(written) + number) for number in range(LINES)]
        with file.open("ab") as appending:
            appending.write(b"".join(line + b"\n" for line in lines))
        written.extend(lines)
        wait_for_values(bootstrap, unique, len(written))
        wait_for(lambda: position() == file.stat().st_size, 60, lambda: f"the offset of {len(written)}: {position()}")

    def position() -> int | None:
        offsets = previewing.rest.get(f"/connectors/{unique}/offsets").json()["offsets"]
        return offsets[0]["offset"]["position"] if offsets else None

    def task() -> tuple[object, ...]:
        """Return what a restart or another attempt changes."""
        (state,) = previewing.status(unique)["tasks"]
        (health,) = previewing.rest.get(f"/connectors/{unique}/health").json()["tasks"]
        pids = sorted(process.pid for process in previewing.task_processes())
        return state["state"], pids, health["restarts"], health["last_error"]

    previewing.create(unique, **{name: text for name, text in config.items() if name != "name"})
    grow()
    before, committed = task(), position()
    assert before[0] == "RUNNING" and len(before[1]) == 1  # type: ignore[arg-type]
    for _ in range(PREVIEWS):
        answer = previewing.rest.post(f"/connectors/{unique}/preview", params={"records": 5, "timeout": 5})
        assert answer.status_code == 200, answer.text
        # It has looked for records until its time was over, and found none behind the committed offset.
        assert (answer.json()["end"], answer.json()["error"], answer.json()["records"]) == ("time", None, [])
        assert position() == committed
        grow()
        committed = position()
    assert task() == before, previewing.log[-3000:]
    found = [(record.offset, record.value) for record in read_committed(bootstrap, unique)]
    assert found == [(number + number // LINES, line) for number, line in enumerate(written)]
    previewing.delete(unique)
