# SPDX-License-Identifier: Apache-2.0
"""Stopping connectors, changing their offsets (KIP-875) and restarting them, on a real exactly-once worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.kafka.admin.topic_admin import TopicAdmin
from tests.support.polling import wait_for
from tests.support.topics import committed_offsets, read_committed, wait_for_values
from tests.support.worker_process import WorkerProcess, once_settled
from tests.vectors.reader import DIRECTORY

LINES = ["one", "two", "three", "four"]
SIZE = sum(len(line) + 1 for line in LINES)
ANY = {"Accept": "*/*"}
JSON = {"Accept": "application/json"}
ALTERED = "The offsets for this connector have been altered successfully"
RESET = "The offsets for this connector have been reset successfully"
MOODY = "moody_source.MoodySource"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "lines.txt"
    file.write_text("".join(f"{line}\n" for line in LINES))
    return file


@pytest.fixture
def create(worker: WorkerProcess) -> Iterator[Callable[..., str]]:
    """Creates connectors, and deletes them in the end."""
    names: list[str] = []

    def create(name: str, initial_state: str = "RUNNING", **config: str) -> str:
        request = {"name": name, "config": config, "initial_state": initial_state}
        answer = worker.rest.post("/connectors", json=request)
        assert answer.status_code == 201, answer.text
        names.append(name)
        return f"/connectors/{name}"

    yield create
    for name in names:
        worker.rest.delete(f"/connectors/{name}")


@pytest.fixture
def lines(worker: WorkerProcess, create: Callable[..., str], unique: str, file: Path, broker: EmbeddedBroker) -> str:
    """A FileStreamSource that has read all of `file` into the topic of its own name; its URL."""
    url = create(unique, **{"connector.class": "FileStreamSource", "file": str(file), "topic": unique})
    wait_for_values(broker.bootstrap_servers, unique, 4)
    worker.wait_for_tasks(unique)
    return url


def state(worker: WorkerProcess, name: str) -> Any:
    return worker.status(name).get("connector", {}).get("state")


def stop(worker: WorkerProcess, url: str) -> None:
    worker.stop_connector(url.rpartition("/")[2])


def resume(worker: WorkerProcess, url: str) -> None:
    assert worker.rest.put(f"{url}/resume").status_code == 202


def patch(worker: WorkerProcess, url: str, *pairs: tuple[Any, Any], query: str = "", **how: Any) -> httpx2.Response:
    body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in pairs]}
    return once_settled(lambda: worker.rest.patch(f"{url}/offsets{query}", json=body, **{"headers": ANY, **how}))


def reset(worker: WorkerProcess, url: str, query: str = "", **how: Any) -> httpx2.Response:
    return once_settled(lambda: worker.rest.delete(f"{url}/offsets{query}", **{"headers": ANY, **how}))


def offsets(worker: WorkerProcess, url: str) -> Any:
    return worker.rest.get(f"{url}/offsets").json()["offsets"]


def assert_error(answer: httpx2.Response, status: int, text: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.json()["error_code"] == status and text in answer.json()["message"]


# ---- what operators do


def test_altered_offsets_are_where_the_connector_goes_on(
    worker: WorkerProcess, lines: str, unique: str, file: Path, broker: EmbeddedBroker
) -> None:
    stop(worker, lines)
    assert worker.rest.get(f"{lines}/tasks").json() == []
    assert worker.rest.get(lines).json()["tasks"] == []
    partition = {"filename": str(file)}
    assert offsets(worker, lines) == [{"partition": partition, "offset": {"position": SIZE}}]
    answer = patch(worker, lines, (partition, {"position": len("one\ntwo\n")}))
    assert (answer.status_code, answer.content) == (204, b"")
    assert offsets(worker, lines) == [{"partition": partition, "offset": {"position": 8}}]
    resume(worker, lines)
    assert wait_for_values(broker.bootstrap_servers, unique, 6) == [*map(str.encode, LINES), b"three", b"four"]
    worker.wait_for_tasks(unique)
    wait_for(lambda: offsets(worker, lines)[0]["offset"] == {"position": SIZE}, 30, "the new offset")


def test_reset_offsets_let_it_start_over(
    worker: WorkerProcess, lines: str, unique: str, broker: EmbeddedBroker
) -> None:
    stop(worker, lines)
    for _ in range(2):  # there is nothing to it the second time
        answer = reset(worker, lines)
        assert (answer.status_code, answer.content) == (204, b"")
        assert offsets(worker, lines) == []
    resume(worker, lines)
    assert wait_for_values(broker.bootstrap_servers, unique, 8) == [line.encode() for line in LINES * 2]


def test_a_patch_touches_only_what_it_names(worker: WorkerProcess, lines: str, file: Path) -> None:
    stop(worker, lines)
    answer = patch(worker, lines, ({"filename": "other"}, {"position": 0}), headers=JSON)
    assert (answer.status_code, answer.json()) == (200, {"message": ALTERED})
    own = {"partition": {"filename": str(file)}, "offset": {"position": SIZE}}
    other = {"partition": {"filename": "other"}, "offset": {"position": 0}}
    assert sorted(offsets(worker, lines), key=str) == sorted([own, other], key=str)
    for _ in range(2):
        assert patch(worker, lines, ({"filename": "other"}, None)).status_code == 204
        assert offsets(worker, lines) == [own]
    answer = reset(worker, lines, headers=JSON)
    assert (answer.status_code, answer.json()) == (200, {"message": RESET})


def test_a_dry_run_changes_nothing(worker: WorkerProcess, lines: str, file: Path) -> None:
    stop(worker, lines)
    before = offsets(worker, lines)
    partition, position = {"filename": str(file)}, {"position": SIZE}
    answer = patch(worker, lines, (partition, {"position": 3}), query="?dryRun=true")
    change = {"partition": partition, "before": position, "after": {"position": 3}}
    assert (answer.status_code, answer.json()["changes"]) == (200, [change])
    assert patch(worker, lines, (partition, position), query="?dryRun=true").json()["changes"] == []
    change = {"partition": partition, "before": position, "after": None}
    assert reset(worker, lines, "?dryRun=true").json()["changes"] == [change]
    assert offsets(worker, lines) == before


def test_offsets_of_connectors_that_are_not_stopped_cannot_be_changed(
    worker: WorkerProcess, lines: str, unique: str, file: Path
) -> None:
    pair = ({"filename": str(file)}, {"position": 0})
    for answer in (patch(worker, lines, pair), reset(worker, lines)):
        assert_error(answer, 400, f"Connector {unique} must be STOPPED")
    assert worker.rest.put(f"{lines}/pause").status_code == 202
    worker.wait_for_tasks(unique, "PAUSED")
    for answer in (patch(worker, lines, pair), reset(worker, lines)):
        assert_error(answer, 400, f"Connector {unique} must be STOPPED")
    assert offsets(worker, lines)[0]["offset"] == {"position": SIZE}
    for answer in (patch(worker, "/connectors/none", pair), reset(worker, "/connectors/none")):
        assert_error(answer, 404, "Connector none not found")


def test_offsets_that_make_no_sense_are_the_users_mistake(worker: WorkerProcess, lines: str, file: Path) -> None:
    stop(worker, lines)
    partition = {"filename": str(file)}
    for offset in ({"position": "7"}, {"position": -1}, {"position": None}, {"place": 1}, {"position": {"a": 1}}):
        assert_error(patch(worker, lines, (partition, offset)), 400, "position")
    assert_error(patch(worker, lines, ({"file": "x"}, {"position": 1})), 400, "filename")
    assert offsets(worker, lines) == [{"partition": partition, "offset": {"position": SIZE}}]


def test_a_connector_is_created_stopped_and_given_offsets_first(
    worker: WorkerProcess, create: Callable[..., str], unique: str, file: Path, broker: EmbeddedBroker
) -> None:
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": unique}
    url = create(unique, "STOPPED", **config)
    wait_for(lambda: state(worker, unique) == "STOPPED", 30, "the connector's status")
    assert patch(worker, url, ({"filename": str(file)}, {"position": 8})).status_code == 204
    resume(worker, url)
    assert wait_for_values(broker.bootstrap_servers, unique, 2) == [b"three", b"four"]


def test_an_offsets_topic_of_its_own(
    worker: WorkerProcess, create: Callable[..., str], unique: str, file: Path, broker: EmbeddedBroker
) -> None:
    own, common = f"{unique}-offsets", worker.properties["offset.storage.topic"]
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": unique, "offsets.storage.topic": own}
    url = create(unique, **config)
    wait_for_values(broker.bootstrap_servers, unique, 4)
    worker.wait_for_tasks(unique)
    stop(worker, url)
    partition = {"filename": str(file)}
    assert patch(worker, url, (partition, {"position": 8})).status_code == 204

    def stored() -> list[Any]:
        return [committed_offsets(broker.bootstrap_servers, topic, unique) for topic in (own, common)]

    assert stored() == [{json.dumps(partition): {"position": 8}}] * 2
    assert reset(worker, url).status_code == 204
    assert stored() == [{json.dumps(partition): None}] * 2
    resume(worker, url)
    wait_for_values(broker.bootstrap_servers, unique, 8)


# ---- exactly-once


def test_former_tasks_can_write_no_more(
    worker: WorkerProcess, create: Callable[..., str], unique: str, broker: EmbeddedBroker
) -> None:
    """Zombies of three tasks, with transactions open since before the stop: none can commit after the change."""
    config = {"connector.class": "VerifiableSource", "tasks.max": "3", "topic": unique, "throughput": "5"}
    url = create(unique, **config)
    worker.wait_for_tasks(unique, tasks=3)
    stop(worker, url)
    group = worker.properties["group.id"]
    zombies = []
    for task in range(3):
        props = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"{group}-{unique}-{task}"}
        zombies.append(Producer(props))
        zombies[-1].init_transactions(30)
        zombies[-1].begin_transaction()
        zombies[-1].produce(unique, b"zombie")
        zombies[-1].flush(30)
    assert patch(worker, url, *(({"id": task}, {"seqno": 100}) for task in range(3))).status_code == 204
    for zombie in zombies:
        with pytest.raises(KafkaException) as error:
            zombie.commit_transaction(30)
        assert error.value.args[0].code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
    resume(worker, url)
    worker.wait_for_tasks(unique, tasks=3)

    def numbers() -> list[tuple[Any, Any]]:
        records = read_committed(broker.bootstrap_servers, unique)
        return [(record.key, int(record.value or b"-1")) for record in records]

    wanted = {(str(task).encode(), 101) for task in range(3)}
    wait_for(lambda: wanted <= set(numbers()), 30, lambda: f"101 of each task: {numbers()}")
    found = numbers()
    assert len(set(found)) == len(found)


def test_config_and_offsets_are_written_as_java_writes_them(
    worker: WorkerProcess, lines: str, unique: str, file: Path, broker: EmbeddedBroker
) -> None:
    """Beside Java's task count record stands the KIP's."""
    stop(worker, lines)
    assert written(worker, broker, "config", unique)[-2:] == java_writes("eos-11-stop", unique, file)["config"]
    pairs = (({"filename": str(file)}, {"position": 7}), ({"filename": "other.txt"}, {"position": 0}))
    assert patch(worker, lines, *pairs).status_code == 204
    java = java_writes("eos-12-alter-offsets", unique, file)
    ours = written(worker, broker, "config", unique)
    assert ours[-2:] == [(f"tasks-count-{unique}", {"tasks": 0}), *java["config"]]
    assert dict(written(worker, broker, "offset", unique)) == dict(java["offsets"])
    assert patch(worker, lines, ({"filename": "other.txt"}, None)).status_code == 204
    before = end_of_offsets(worker, broker)
    assert reset(worker, lines).status_code == 204
    assert end_of_offsets(worker, broker) == before + 2, "a tombstone and the marker of its transaction"
    assert reset(worker, lines).status_code == 204
    assert written(worker, broker, "config", unique) == ours, "there was nothing left to fence"
    assert set(dict(written(worker, broker, "offset", unique)).values()) == {None}
    resume(worker, lines)
    wanted = [key for key, _ in java_writes("eos-16-resume-from-stopped", unique, file)["config"]]

    def since() -> list[str]:
        keys = [key for key, _ in written(worker, broker, "config", unique)[len(ours) :]]
        return [key for key in keys if not key.startswith("tasks-count-")]

    wait_for(lambda: since() == wanted, 30, lambda: f"{wanted}, not {since()}")


def java_writes(step: str, name: str, file: Path) -> dict[str, list[tuple[str, Any]]]:
    """What Java's worker wrote at that step, with our connector's name and our file."""
    rows = (DIRECTORY / "write_sequences.jsonl").read_text(encoding="utf-8").split("\n")
    row = next(row for row in rows if f'"write_sequences/{step}"' in row)
    row = row.replace("file-source", name).replace("input.txt", str(file))
    writes = json.loads(row)["output"]["writes"]
    return {topic: [(record["key"], record["value"]) for record in records] for topic, records in writes.items()}


def written(worker: WorkerProcess, broker: EmbeddedBroker, kind: str, connector: str) -> list[tuple[str, Any]]:
    """The records of an internal topic that name the connector, in the order of each partition."""
    records = read_committed(broker.bootstrap_servers, worker.properties[f"{kind}.storage.topic"])
    named = [((record.key or b"").decode(), record.value) for record in records]
    return [(key, json.loads(value) if value else None) for key, value in named if connector in key]


def end_of_offsets(worker: WorkerProcess, broker: EmbeddedBroker) -> int:
    """How many records and markers the workers' offsets topic has ever had."""
    admin = TopicAdmin({"bootstrap.servers": broker.bootstrap_servers})
    try:
        return sum(admin.end_offsets(worker.properties["offset.storage.topic"]).values())
    finally:
        admin.close()


# ---- connectors that fail


def test_a_failed_connector_is_stopped_and_resumed(
    worker: WorkerProcess, create: Callable[..., str], unique: str, tmp_path: Path
) -> None:
    (tmp_path / "start").touch()
    url = create(unique, **moody(unique, tmp_path))
    wait_for(lambda: state(worker, unique) == "FAILED", 30, "the failure")
    stop(worker, url)
    assert "trace" not in worker.status(unique)["connector"]
    (tmp_path / "start").unlink()
    resume(worker, url)
    worker.wait_for_tasks(unique)
    assert state(worker, unique) == "RUNNING"


def test_a_connector_that_fails_to_stop_is_stopped_and_resumed(
    worker: WorkerProcess, create: Callable[..., str], unique: str, tmp_path: Path
) -> None:
    url = create(unique, **moody(unique, tmp_path))
    worker.wait_for_tasks(unique)
    (tmp_path / "stop").touch()
    stop(worker, url)
    (tmp_path / "stop").unlink()
    assert worker.rest.put(f"{url}/pause").status_code == 202
    wait_for(lambda: state(worker, unique) == "PAUSED", 30, lambda: f"the pause: {worker.status(unique)}")
    resume(worker, url)
    worker.wait_for_tasks(unique)


def test_restarts(worker: WorkerProcess, create: Callable[..., str], unique: str, tmp_path: Path) -> None:
    (tmp_path / "start").touch()
    url = create(unique, **moody(unique, tmp_path))
    wait_for(lambda: state(worker, unique) == "FAILED", 30, "the failure")
    (tmp_path / "start").unlink()
    answer = worker.rest.post(f"{url}/restart?onlyFailed=true&includeTasks=true")
    assert answer.status_code == 202
    assert answer.json()["connector"]["state"] == "RESTARTING" and answer.json()["name"] == unique
    worker.wait_for_tasks(unique)
    before = process(worker)
    assert worker.rest.post(f"{url}/restart").status_code == 204
    assert worker.rest.post(f"{url}/restart?onlyFailed=true&includeTasks=true").status_code == 202
    wait_for(lambda: state(worker, unique) == "RUNNING", 30, "the connector's restart")
    assert process(worker) == before, "tasks that run are left alone"
    assert worker.rest.post(f"{url}/tasks/0/restart").status_code == 204
    wait_for(lambda: process(worker) != before and len(process(worker)) == len(before), 30, "another process")
    worker.wait_for_tasks(unique)
    assert worker.rest.get(f"{url}/tasks/0/status").json()["state"] == "RUNNING"
    assert_error(worker.rest.post(f"{url}/tasks/5/restart"), 404, "Unknown task")
    stop(worker, url)
    for state_wanted in ("STOPPED", "PAUSED"):
        refused = worker.rest.post(f"{url}/tasks/0/restart")
        assert_error(refused, 409, f"{unique} is {state_wanted} and has no tasks until it is resumed")
        assert "retry-after" not in refused.headers, "trying again does not help"
        if state_wanted == "STOPPED":
            assert worker.rest.put(f"{url}/pause").status_code == 202
            wait_for(lambda: state(worker, unique) == "PAUSED", 30, "its pause")
    stop(worker, url)
    restarted = worker.rest.post(f"{url}/restart?includeTasks=true")
    assert (restarted.status_code, restarted.json()["connector"]["state"]) == (202, "RESTARTING")
    wait_for(lambda: state(worker, unique) == "STOPPED", 30, "its being stopped again")


def moody(name: str, directory: Path) -> dict[str, str]:
    return {"connector.class": MOODY, "topic": name, "throughput": "1", "directory": str(directory)}


def process(worker: WorkerProcess) -> set[int]:
    return {process.pid for process in worker.task_processes()}


# ---- the rest of the REST API


def test_delete_with_offsets(
    worker: WorkerProcess, lines: str, unique: str, create: Callable[..., str], file: Path, broker: EmbeddedBroker
) -> None:
    assert worker.rest.delete(f"{lines}?includeOffsets=true").status_code == 204
    # It waits for the end of the old offsets, and then starts over.
    create(unique, **{"connector.class": "FileStreamSource", "file": str(file), "topic": unique})
    assert wait_for_values(broker.bootstrap_servers, unique, 8) == [line.encode() for line in LINES * 2]
    keys = dict(written(worker, broker, "config", unique))
    assert keys[f"removed-offsets-{unique}"] is None


def test_patch_expand_and_topics(worker: WorkerProcess, lines: str, unique: str) -> None:
    answer = worker.rest.patch(f"{lines}/config", json={"batch.size": 100, "tasks.max": None})
    assert answer.status_code == 200 and answer.json()["config"]["batch.size"] == "100"
    assert_error(worker.rest.patch(f"{lines}/config", json={"batch.size": "many"}), 400, "batch.size")
    assert_error(worker.rest.patch("/connectors/none/config", json={"a": "b"}), 404, "Connector none not found")
    worker.wait_for_tasks(unique)

    def expanded() -> Any:
        """Return the answer about a connector once it has come back with its new configuration."""
        reported = worker.rest.get("/connectors?expand=info&expand=status").json()[unique]
        return reported if reported["status"]["connector"]["state"] == "RUNNING" else None

    assert wait_for(expanded, 30, "a running connector")["info"]["config"]["batch.size"] == "100"
    assert worker.rest.get(f"{lines}/topics").json() == {unique: {"topics": [unique]}}
    assert worker.rest.put(f"{lines}/topics/reset").status_code == 202
    wait_for(lambda: worker.rest.get(f"{lines}/topics").json() == {unique: {"topics": []}}, 30, "the reset")


# ---- sinks


@pytest.mark.parametrize("override", [False, True])
def test_a_sinks_offsets(
    worker: WorkerProcess, create: Callable[..., str], unique: str, broker: EmbeddedBroker, override: bool
) -> None:
    """Those of a group that another consumer has left offsets in, as the sink's tasks would."""
    group = f"group-{unique}" if override else f"connect-{unique}"
    config = {"connector.class": "moody_source.PlainSink", "topics": unique, "tasks.max": "1"}
    if override:
        config["consumer.override.group.id"] = group
    fill(broker, unique)
    url = create(unique, "STOPPED", **config)
    assert offsets(worker, url) == []
    consumer = member(broker, group, unique)
    try:
        refused = worker.rest.delete(f"{url}/offsets")
        assert_error(refused, 409, f"Group '{group}' has 1 active member(s)")
        assert "zombie-client" in refused.json()["message"]
        altered = worker.rest.patch(f"{url}/offsets", json={"offsets": [sink_offset(unique, 2)]})
        assert_error(altered, 409, "zombie-client")
    finally:
        consumer.close()
    assert offsets(worker, url) == [sink_offset(unique, 3)]
    message = worker.rest.patch(f"{url}/offsets", json={"offsets": [sink_offset(unique, 1)]}, headers=JSON)
    assert message.status_code == 200 and "manages offsets externally" in message.json()["message"]
    assert offsets(worker, url) == [sink_offset(unique, 1)]
    for wrong in (
        sink_offset("nothing", 1),
        sink_offset(unique, 1, 7),
        sink_offset(unique, -1),
        sink_offset(unique, "x"),
    ):
        answer = worker.rest.patch(f"{url}/offsets", json={"offsets": [wrong]})
        assert answer.status_code == 400, answer.text
    assert patch(worker, url, (sink_offset(unique, 0)["partition"], None)).status_code == 204
    assert offsets(worker, url) == []
    assert patch(worker, url, (sink_offset(unique, 0)["partition"], {"kafka_offset": 2})).status_code == 204
    for _ in range(2):
        assert reset(worker, url).status_code == 204
        assert offsets(worker, url) == []


def sink_offset(topic: str, offset: Any, partition: int = 0) -> dict[str, Any]:
    return {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}


def fill(broker: EmbeddedBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(5):
        producer.produce(topic, str(number).encode(), partition=0)
    assert producer.flush(30) == 0


def member(broker: EmbeddedBroker, group: str, topic: str) -> Consumer:
    """An active member of the group, which has committed 3."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "client.id": "zombie-client",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    read = 0
    while read < 3:
        message = consumer.poll(30)
        assert message is not None and message.error() is None
        read += 1
        consumer.commit(message, asynchronous=False)
        if read == 3:
            break
    return consumer
