# SPDX-License-Identifier: Apache-2.0
"""Proof that the fault tests can fail: with one protection left out, the same check sees duplicates."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from headrace.kafka.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once
from tests.support.numbered import create_numbered, make_zombie
from tests.support.polling import wait_for
from tests.support.topics import values, wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 2500
# With a transaction for each poll, none is open while it polls.
SLOWLY = {"pause.ms": "100", "transaction.boundary": "poll"}
MUTATIONS = Path(__file__).parents[1] / "support" / "mutations"


@pytest.mark.parametrize("mutations", [("deaf_task",), ("deaf_task", "no_fencing")], ids=["fencing", "no fencing"])
def test_a_zombie_that_only_fencing_can_stop(
    mutations: tuple[str, ...], broker: EmbeddedBroker, tmp_path: Path, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped between two transactions, its worker dies, a successor goes on, and it wakes (invariant 2)."""
    with mutated_worker(mutations, broker, tmp_path, unique, monkeypatch) as worker:
        zombie = make_zombie(worker, unique, tmp_path, COUNT, "mid_produce", **SLOWLY)
        try:
            before = len(values(broker.bootstrap_servers, unique))
            worker.start()
            wait_for_values(broker.bootstrap_servers, unique, before + 200, 60)
            zombie.send_signal(signal.SIGCONT)
            _assert_outcome("no_fencing" not in mutations, worker, broker, unique)
        finally:
            with suppress(psutil.NoSuchProcess):
                zombie.kill()


@pytest.mark.parametrize(
    "mutations", [("late_offsets",), ("late_offsets", "no_read_to_end")], ids=["read to the end", "not read to the end"]
)
def test_offsets_that_the_worker_hears_of_late(
    mutations: tuple[str, ...], broker: EmbeddedBroker, tmp_path: Path, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task's process dies just after a commit; its successor asks before the worker knows of it (invariant 3)."""
    hold, reads, once = tmp_path / "hold", tmp_path / "reads", tmp_path / "once"
    hold.touch()
    once.touch()
    with mutated_worker(mutations, broker, tmp_path, unique, monkeypatch) as worker:
        try:
            worker.start()
            create_numbered(worker, unique, COUNT, **{"die.at": "after_commit", "die.once": str(once), **SLOWLY})
            wait_for(lambda: not once.exists(), 60, "the death of the process")
            wait_for(lambda: len(reads.read_text().splitlines()) == 2, 30, "the successor's question")
            if "no_read_to_end" not in mutations:
                hold.unlink()
            _assert_outcome("no_read_to_end" not in mutations, worker, broker, unique)
        finally:
            hold.unlink(missing_ok=True)


@contextmanager
def mutated_worker(
    mutations: tuple[str, ...], broker: EmbeddedBroker, directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WorkerProcess]:
    """A worker without the protections that the modules `mutations` take away; it is not started."""
    monkeypatch.setenv("HEADRACE_TEST_MUTATIONS", ",".join(mutations))
    monkeypatch.setenv("HEADRACE_TEST_DIRECTORY", str(directory))
    properties = {"group.id": f"group-{name}", "session.timeout.ms": "6000", "heartbeat.interval.ms": "2000"}
    worker = WorkerProcess(directory, broker.bootstrap_servers, path=(MUTATIONS,), **properties)
    try:
        yield worker
        assert all((directory / mutation).exists() for mutation in mutations), "a mutation was not made"
    finally:
        worker.close()


def _assert_outcome(protected: bool, worker: WorkerProcess, broker: EmbeddedBroker, name: str) -> None:
    def check() -> None:
        assert_exactly_once(broker.bootstrap_servers, name, COUNT, worker.properties["offset.storage.topic"], name)

    if protected:
        check()
        return
    seen = wait_for_values(broker.bootstrap_servers, name, COUNT + 1, 60)
    assert len(set(seen)) < len(seen), "there are more records than there should be, but none twice"
    with pytest.raises(AssertionError, match="records are not where they belong"):
        check()
