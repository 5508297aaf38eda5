# SPDX-License-Identifier: Apache-2.0
"""A broker that is away for longer than any of its clients waits. `make outage` keeps it away for ten minutes."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from tests.faults.health_watch import HealthWatch
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.polling import within
from tests.support.sinks import create_sink, lines, wait_for_lines
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

SECONDS = float(os.environ.get("HEADRACE_OUTAGE_SECONDS", "25"))
"""Each of `TIMEOUTS` is shorter."""
TIMEOUTS = {
    "heartbeat.interval.ms": "2000",
    "producer.transaction.timeout.ms": "9000",
    "producer.delivery.timeout.ms": "8000",
    "producer.request.timeout.ms": "4000",
    "consumer.session.timeout.ms": "6000",
}
SESSION_IS_LOST = {"session.timeout.ms": "6000"}
"""The worker stops its tasks."""
SESSION_LASTS = {"session.timeout.ms": "120000"}
"""Tasks see the outage themselves; of ten minutes, both."""
COUNT = 4000
HEALTH_S = 20.0
"""Seconds within which health reports it: the session's timeout, and ten seconds that an answer takes then."""
RECOVERY_S = 60.0
"""Within which everything goes on: the longest pause between two attempts of a task is 30 s."""
_SINCE = re.compile(r"(?:out of group|without an answer from the coordinator of group) \S+ for (\d+) s")


@pytest.mark.timeout(900 + SECONDS)
@pytest.mark.parametrize(
    ("frozen", "session"), [(True, SESSION_IS_LOST), (False, SESSION_LASTS)], ids=["frozen", "killed"]
)
def test_broker_away(frozen: bool, session: dict[str, str], tmp_path: Path, unique: str) -> None:
    file = tmp_path / "lines"
    with (
        EmbeddedBroker(tmp_path / "broker", port=0, jvm_options=QUICK_START_JVM_OPTIONS) as broker,
        WorkerProcess(tmp_path, broker.bootstrap_servers, **TIMEOUTS, **session) as worker,
    ):
        pauses = {"pause.ms": "50", "batch": "20", "hurry": str(tmp_path / "hurry")}
        create_numbered(worker, unique, COUNT, **pauses)
        create_sink(worker, f"{unique}-sink", unique, file)
        wait_for_values(broker.bootstrap_servers, unique, 200, 90)
        wait_for_lines(file, 100)
        with HealthWatch(worker) as watch:
            _away(broker, frozen)
            written = len(lines(file))
            within(
                RECOVERY_S,
                lambda: len(lines(file)) > written and worker.rest.get("/health").status_code == 200,
                lambda: f"records and health: {len(lines(file))} lines, {watch.answers[-3:]}\n{watch.log[-4000:]}",
            )
        _assert_health_was_honest(watch)
        _assert_bounded(watch)
        (tmp_path / "hurry").touch()
        assert_exactly_once(broker.bootstrap_servers, unique, COUNT, worker.properties["offset.storage.topic"], unique)
        wait_for_lines(file, COUNT)
        assert set(lines(file)) == {str(n) for n in range(COUNT)}
        for name in (unique, f"{unique}-sink"):
            worker.wait_for_tasks(name)


def _away(broker: EmbeddedBroker, frozen: bool) -> None:
    pid = broker.pid
    assert pid is not None
    if frozen:
        os.kill(pid, signal.SIGSTOP)
    else:
        broker.kill()
    time.sleep(SECONDS)
    if frozen:
        os.kill(pid, signal.SIGCONT)
    else:
        broker.start()


def _assert_health_was_honest(watch: HealthWatch) -> None:
    reported = watch.between(HEALTH_S, SECONDS)
    assert reported, watch.answers
    for answer in reported:
        assert (answer.code, answer.status) == (500, "unhealthy"), answer
        since = _SINCE.search(answer.message)
        assert since is not None, answer
        assert abs(answer.asked + answer.took - float(since[1])) < HEALTH_S, answer
    assert max(answer.took for answer in watch.answers) < 15
    assert watch.answers[-1].code in (200, 500), watch.answers[-1]


def _assert_bounded(watch: HealthWatch) -> None:
    kinds = watch.kinds_of_lines()
    taken = f"threads {watch.threads[0]}..{max(watch.threads)}, MB {watch.megabytes[0]}..{max(watch.megabytes)}"
    print(f"\n{watch.answers[-1].asked:.0f} s: {taken}, log {len(watch.log)} bytes: {kinds.most_common()}")
    assert max(watch.threads) < watch.threads[0] + 20
    assert max(watch.megabytes) < watch.megabytes[0] + 50
    assert max(kinds.values()) <= 3 + SECONDS / 30, kinds.most_common(5)
