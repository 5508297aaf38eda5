# SPDX-License-Identifier: Apache-2.0
"""Sink tasks on a real worker: from topics into files."""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.sinks import (
    Journal,
    committed,
    create_journal_sink,
    create_sink,
    lines,
    make_topic,
    numbers,
    send,
    wait_for_committed,
    wait_for_lines,
)
from tests.support.worker_process import WorkerProcess


def test_lines_are_written_and_offsets_committed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 1000))
    create_sink(worker, unique, unique, file)
    assert wait_for_lines(file, 1000) == [str(n) for n in range(1000)]
    wait_for_committed(bootstrap, unique, unique, {0: 1000})
    send(bootstrap, unique, [b"one more", None])
    assert wait_for_lines(file, 1002)[1000:] == ["one more", "null"]
    worker.wait_for_tasks(unique)
    assert worker.rest.get(f"/connectors/{unique}/topics").json()[unique]["topics"] == [unique]
    worker.delete(unique)


def test_a_paused_sink_writes_nothing_and_goes_on(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    create_sink(worker, unique, unique, file)
    wait_for_lines(file, 10)
    worker.rest.put(f"/connectors/{unique}/pause")
    worker.wait_for_tasks(unique, "PAUSED")
    send(bootstrap, unique, numbers(10, 10))
    # Another connector's lines are proof that time has passed for this one too.
    create_sink(worker, f"{unique}-other", unique, tmp_path / "other.txt")
    wait_for_lines(tmp_path / "other.txt", 20)
    assert len(lines(file)) == 10
    worker.rest.put(f"/connectors/{unique}/resume")
    assert wait_for_lines(file, 20) == [str(n) for n in range(20)]
    worker.wait_for_tasks(unique)
    worker.delete(unique)
    worker.delete(f"{unique}-other")


def test_a_pause_and_a_stop_commit_at_once(
    own_worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """Whenever the next commit would have been due: here in an hour."""
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    own_worker.properties["offset.flush.interval.ms"] = "3600000"
    own_worker.start()
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 10))
    create_sink(own_worker, unique, unique, file)
    wait_for_lines(file, 10)
    own_worker.wait_for_tasks(unique)
    assert committed(bootstrap, f"connect-{unique}", unique) == {}
    own_worker.rest.put(f"/connectors/{unique}/pause")
    wait_for_committed(bootstrap, unique, unique, {0: 10})
    own_worker.rest.put(f"/connectors/{unique}/resume")
    send(bootstrap, unique, numbers(10, 10))
    wait_for_lines(file, 20)
    assert committed(bootstrap, f"connect-{unique}", unique) == {0: 10}
    own_worker.delete(unique)
    wait_for_committed(bootstrap, unique, unique, {0: 20})


def test_a_missing_topic_is_waited_for(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    create_sink(worker, unique, f"{unique},{unique}-late", file)
    worker.wait_for_tasks(unique)
    wait_for(lambda: f"topics that do not exist (yet): {unique}, {unique}-late" in worker.log, 20, "a line of the log")
    make_topic(bootstrap, f"{unique}-late")
    send(bootstrap, f"{unique}-late", [b"late"])
    assert wait_for_lines(file, 1, 20) == ["late"]
    worker.delete(unique)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


@pytest.fixture
def once(tmp_path: Path) -> str:
    (tmp_path / "once").touch()
    return str(tmp_path / "once")


SOON = {"heartbeat.interval.ms": "500"}
"""Members learn of a rebalance by a heartbeat. By the new protocol the broker sets the interval."""


def texts(first: int, count: int) -> list[str]:
    return [str(n) for n in range(first, first + count)]


def test_records_are_what_they_were(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"v"], key=b"k", headers=[("h", b"1"), ("h", None)], timestamp=1_700_000_000_123)
    send(bootstrap, unique, [None], key=b"k")
    route = {"transforms": "r", "transforms.r.type": "RegexRouter"}
    route |= {"transforms.r.regex": "(.*)", "transforms.r.replacement": "$1-routed"}
    create_journal_sink(worker, unique, unique, journal, **route)
    wait_for(lambda: len(journal.records()) == 2, 60, lambda: str(journal.events()))
    first, tombstone = journal.records()
    assert first == {
        "topic": f"{unique}-routed",
        "value": "v",
        "key": "k",
        "timestamp": 1_700_000_000_123,
        "timestamp_type": "CreateTime",
        "headers": [["h", 1], ["h", None]],
        "offset": 0,
        "original": [unique, 0, 0],
    }
    assert (tombstone["value"], tombstone["headers"], tombstone["original"]) == (None, [], [unique, 0, 1])
    worker.delete(unique)
    journal.wait_for("stop")
    assert [event["event"] for event in journal.events("open", "close", "stop")] == ["open", "close", "stop"]


def test_the_same_batch_is_put_again_and_is_not_committed_before(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal, once: str
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 20))
    create_journal_sink(worker, unique, unique, journal, once=once, retry="3000")
    journal.wait_for("put")
    send(bootstrap, unique, numbers(20, 5))
    found = committed(bootstrap, f"connect-{unique}", unique)
    assert len(journal.events("put")) == 1, "the test was too slow to look before the second put"
    assert found == {}
    journal.wait_for("put", 2)
    first, second = journal.events("put")[:2]
    assert first["records"] == second["records"]
    journal.wait_for_values(texts(0, 25))
    assert len(journal.values()) == 45 - 20 + len(first["records"])
    wait_for_committed(bootstrap, unique, unique, {0: 25})
    worker.delete(unique)


def test_a_rewind_reads_again(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal, once: str
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 30))
    create_journal_sink(worker, unique, unique, journal, **{"once": once, "rewind.to": "25", "open.at": "10"})
    puts = wait_for(lambda: two_puts_or_more(journal), 60, lambda: str(journal.events()))
    assert puts[0] == texts(10, len(puts[0]))
    assert list(itertools.chain(*puts[1:])) == texts(25, 5)
    wait_for_committed(bootstrap, unique, unique, {0: 30})
    worker.delete(unique)


def two_puts_or_more(journal: Journal) -> list[list[str]]:
    """The values of each `put`, once the last record has come after the rewind, which follows the first of them."""
    puts = [[str(record["value"]) for record in put["records"]] for put in journal.events("put") if put["records"]]
    return puts if len(puts) > 1 and puts[-1][-1] == "29" else []


@pytest.mark.parametrize(("answer", "offset"), [("ahead", {}), ("behind", {0: 17})])
def test_only_what_the_task_says_and_was_put_is_committed(
    answer: str,
    offset: dict[int, int],
    worker: WorkerProcess,
    broker: EmbeddedBroker,
    unique: str,
    journal: Journal,
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 20))
    create_journal_sink(worker, unique, unique, journal, **{"pre.commit": answer, "request.commit": "yes"})
    journal.wait_for_values(texts(0, 20))
    asked = len(journal.events("pre_commit"))
    journal.wait_for("pre_commit", asked + 2)
    assert committed(bootstrap, f"connect-{unique}", unique) == offset
    worker.delete(unique)


def test_a_failed_pre_commit_goes_back_to_what_is_committed(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal, once: str
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    send(bootstrap, unique, numbers(0, 20))
    create_journal_sink(worker, unique, unique, journal, **{"once": once, "pre.commit": "fails"})
    wait_for(lambda: len(journal.values()) >= 40, 60, lambda: str(journal.events()))
    assert journal.values() == texts(0, 20) * 2
    wait_for_committed(bootstrap, unique, unique, {0: 20})
    worker.delete(unique)


def test_a_put_that_fails_ends_the_task_and_commits_only_what_was_put(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal, once: str
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique)
    Path(once).unlink()
    create_journal_sink(worker, unique, unique, journal, **{"once": once, "put.fails": "yes"})
    send(bootstrap, unique, numbers(0, 5))
    journal.wait_for_values(texts(0, 5))
    Path(once).touch()
    send(bootstrap, unique, numbers(5, 5))
    worker.wait_for_tasks(unique, "FAILED")
    assert worker.status(unique)["tasks"][0]["trace"].startswith("never\n")
    assert committed(bootstrap, f"connect-{unique}", unique) == {0: 5}
    assert [event["event"] for event in journal.events("close", "stop")] == ["close", "stop"]
    worker.delete(unique)


def test_a_slow_put_does_not_lose_its_group_membership(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal, once: str
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique, 2)
    send(bootstrap, unique, numbers(0, 10))
    create_journal_sink(
        worker,
        unique,
        unique,
        journal,
        **{
            "once": once,
            "sleep.s": "4.5",
            "consumer.override.max.poll.interval.ms": "3000",
            "consumer.override.session.timeout.ms": "3000",
            "consumer.override.heartbeat.interval.ms": "500",
        },
    )
    journal.wait_for("put")
    send(bootstrap, unique, numbers(10, 10), 1)
    journal.wait_for("awake")
    journal.wait_for_values(texts(0, 20))
    wait_for_committed(bootstrap, unique, unique, {0: 10, 1: 10})
    # It was never sent away, and nothing was read twice.
    assert journal.events("close") == []
    assert sorted(journal.values(), key=int) == texts(0, 20)
    worker.delete(unique)


def test_a_partition_that_the_task_paused_gets_no_records(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    bootstrap = broker.bootstrap_servers
    make_topic(bootstrap, unique, 2)
    send(bootstrap, unique, [b"pause me"], 0)
    create_journal_sink(worker, unique, unique, journal, **{"pause.at": "pause me"})
    journal.wait_for("paused")
    send(bootstrap, unique, numbers(0, 3), 0)
    send(bootstrap, unique, numbers(10, 3), 1)
    journal.wait_for_values(texts(10, 3))
    # A pause and a resume of the connector do not end it.
    worker.rest.put(f"/connectors/{unique}/pause")
    worker.wait_for_tasks(unique, "PAUSED")
    worker.rest.put(f"/connectors/{unique}/resume")
    worker.wait_for_tasks(unique)
    send(bootstrap, unique, numbers(20, 3), 1)
    journal.wait_for_values(texts(20, 3))
    assert sorted(journal.values()) == sorted(["pause me", *texts(10, 3), *texts(20, 3)])
    worker.delete(unique)


@pytest.mark.parametrize(
    ("how", "given_up"),
    [
        ({**SOON, "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"}, 4),
        ({**SOON, "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}, 2),
        ({"group.protocol": "consumer"}, 2),
    ],
    ids=["eager", "cooperative", "by the broker"],
)
def test_partitions_come_and_go(
    how: dict[str, str], given_up: int, worker: WorkerProcess, broker: EmbeddedBroker, unique: str, journal: Journal
) -> None:
    """A second connector in the same group takes partitions over, and gives them back."""
    bootstrap, override = broker.bootstrap_servers, "consumer.override."
    make_topic(bootstrap, unique, 4)
    shared = {
        f"{override}group.id": f"group-{unique}",
        **{f"{override}{name}": value for name, value in how.items()},
    }
    for partition in range(4):
        send(bootstrap, unique, numbers(10 * partition, 10), partition)
    create_journal_sink(worker, unique, unique, journal, **shared)
    journal.wait_for_values(texts(0, 40))
    other = Journal(journal.file.with_name("other.jsonl"))
    create_journal_sink(worker, f"{unique}-other", unique, other, **shared)
    other.wait_for("open")
    for partition in range(4):
        send(bootstrap, unique, numbers(100 + 10 * partition, 10), partition)
    wait_for(lambda: len(journal.values()) + len(other.values()) >= 80, 60, "the second records")
    # What was committed before the partitions went was not read again.
    assert sorted(journal.values() + other.values(), key=int) == sorted(texts(0, 40) + texts(100, 40), key=int)
    revoked = journal.events("close")[0]["partitions"]
    assert len(revoked) == given_up
    assert len(other.events("open")[0]["partitions"]) == 2
    worker.delete(f"{unique}-other")
    other.wait_for("stop")
    for partition in range(4):
        send(bootstrap, unique, numbers(200 + 10 * partition, 10), partition)
    journal.wait_for_values(texts(200, 40))
    worker.delete(unique)


def test_topics_that_match_are_read_as_they_come(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    bootstrap, file = broker.bootstrap_servers, tmp_path / "out.txt"
    make_topic(bootstrap, f"{unique}-a1")
    # A pattern matches whole names, as in Java.
    make_topic(bootstrap, f"{unique}-a1-not")
    send(bootstrap, f"{unique}-a1", [b"a"])
    send(bootstrap, f"{unique}-a1-not", [b"not"])
    regex = {"topics.regex": rf"{unique}-[ab]\d", "consumer.override.metadata.max.age.ms": "500"}
    create_sink(worker, unique, "", file, **regex)
    assert wait_for_lines(file, 1) == ["a"]
    make_topic(bootstrap, f"{unique}-b2")
    send(bootstrap, f"{unique}-b2", [b"b"])
    assert wait_for_lines(file, 2) == ["a", "b"]
    worker.delete(unique)


def test_its_memory_does_not_grow_with_the_topic(
    worker: WorkerProcess, broker: EmbeddedBroker, unique: str, tmp_path: Path
) -> None:
    """200 MB go through a process that keeps far less of them."""
    bootstrap, file, count = broker.bootstrap_servers, tmp_path / "out.txt", 20_000
    make_topic(bootstrap, unique)
    send(bootstrap, unique, [b"x" * 9_999] * count)
    create_sink(worker, unique, unique, file)
    most = [0]

    def done() -> bool:
        for process in worker.task_processes():
            with suppress(psutil.Error):
                most[0] = max(most[0], process.memory_full_info().uss)
        return file.exists() and file.stat().st_size == count * 10_000

    wait_for(done, 90, lambda: f"{file.stat().st_size} bytes")
    assert 0 < most[0] < 150_000_000
    worker.delete(unique)
    file.unlink()
