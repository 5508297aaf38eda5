# SPDX-License-Identifier: Apache-2.0
"""`headrace doctor` on a cluster of two brokers, and after one of them was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.broker.broker_files import new_uuid, storage_directory
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import free_port
from headrace.cli.main import app
from headrace.kafka.admin.cluster_queries import ClusterQueries
from headrace.kafka.admin.topic_admin import TopicAdmin, TopicSpec
from tests.support.polling import wait_for

LEAST = "min.insync.replicas"
_SETTINGS = {"broker.session.timeout.ms": "6000", "default.replication.factor": "2"}


@dataclass(frozen=True)
class Pair:
    """Two brokers of one cluster; the first one is its controller too."""

    first: EmbeddedBroker
    second: EmbeddedBroker

    @property
    def servers(self) -> str:
        return f"{self.first.bootstrap_servers},{self.second.bootstrap_servers}"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    directory, controller = tmp_path_factory.mktemp("second"), free_port()
    ports = free_port(), free_port()
    voters = {"controller.quorum.voters": f"1@127.0.0.1:{controller}"}
    listeners = [f"PLAINTEXT://127.0.0.1:{port}" for port in ports]
    one = {**_SETTINGS, **voters, "listeners": f"{listeners[0]},CONTROLLER://127.0.0.1:{controller}"}
    two = {**_SETTINGS, **voters, "listeners": listeners[1], "process.roles": "broker", "node.id": "2"}
    with ExitStack() as stack:
        first = stack.enter_context(EmbeddedBroker(None, ports[0], one, QUICK_START_JVM_OPTIONS))
        _format(directory, cluster_of(first))
        second = stack.enter_context(EmbeddedBroker(directory, ports[1], two, QUICK_START_JVM_OPTIONS))
        yield Pair(first, second)


def cluster_of(broker: EmbeddedBroker) -> str:
    """Return the cluster's id, as its first node has stored it."""
    lines = (storage_directory(broker.data_dir) / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)["cluster.id"]


def _format(directory: Path, cluster: str) -> None:
    storage = storage_directory(directory)
    storage.mkdir(parents=True)
    (storage / "meta.properties").write_text(f"version=1\nnode.id=2\ncluster.id={cluster}\ndirectory.id={new_uuid()}\n")


def doctor(tmp_path: Path, pair: Pair, group: str, replicas: int = 2) -> tuple[int, dict[str, list[tuple[str, str]]]]:
    """Run the command as a user does; return its exit code, and levels and texts by check."""
    properties = {
        "bootstrap.servers": pair.servers,
        "group.id": group,
        "listeners": "http://127.0.0.1:0",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
        **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": str(replicas) for kind in ("config", "offset", "status")},
    }
    file = tmp_path / "worker.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    file.chmod(0o600)
    result = CliRunner().invoke(app, ["doctor", str(file), "-o", "json"])
    found: dict[str, list[tuple[str, str]]] = {}
    for each in json.loads(result.output)["findings"]:
        found.setdefault(each["check"], []).append((each["level"], each["found"]))
    return result.exit_code, found


def test_two_brokers_and_one(pair: Pair, unique: str, tmp_path: Path) -> None:
    """Both are asked, replicas and min.insync.replicas are compared with them, and a killed one is named."""
    code, found = doctor(tmp_path, pair, f"{unique}-new")
    first, second = pair.first.bootstrap_servers, pair.second.bootstrap_servers
    assert code == 0, found
    assert [level for level, _ in found["brokers"]] == ["ok"] * 2
    assert all(f"{server} answers" in str(found["brokers"]) for server in (first, second))
    ((level, cluster),) = found["cluster"]
    assert level == "ok" and "2 brokers, requests of Kafka 4." in cluster
    assert [level for level, _ in found["internal topics"]] == ["ok"] * 3
    _, found = doctor(tmp_path, pair, f"{unique}-new", replicas=3)
    assert {(level, "cannot be created" in text) for level, text in found["internal topics"]} == {("problem", True)}

    for kind, least in {"config": "2", "offset": "1", "status": "3"}.items():
        create_topic(pair, TopicSpec(f"{unique}-{kind}", 1, 2, {"cleanup.policy": "compact", LEAST: least}))
    code, found = doctor(tmp_path, pair, unique)
    texts = [text for _, text in found["internal topics"]]
    assert code == 1 and f"{unique}-status has {LEAST}=3 and 2 replicas: it cannot be written" in texts, texts
    assert f"{unique}-config has 2 replicas: one more broker's loss stops its writers" in texts

    pair.second.kill()
    wait_for(lambda: in_sync(pair, f"{unique}-config") == 1, 60, "the killed broker to be out of sync")
    code, found = doctor(tmp_path, pair, unique)
    assert (code, sorted(level for level, _ in found["brokers"])) == (1, ["ok", "warning"]), found
    (dead,) = [text for level, text in found["brokers"] if level == "warning"]
    assert second in dead and "TCP failed: Connection refused; other servers answer" in dead
    assert "1 broker, requests of Kafka 4." in dict(found["cluster"])["ok"]
    texts = [text for _, text in found["internal topics"]]
    assert f"{unique}-config has {LEAST}=2, and 1 are in sync: it cannot be written" in texts, texts
    assert f"{unique}-offset: replicas are offline or behind, of partitions 0" in texts


def create_topic(pair: Pair, topic: TopicSpec) -> None:
    with closing(TopicAdmin({"bootstrap.servers": pair.servers})) as admin:
        admin.create_topics([topic])


def in_sync(pair: Pair, topic: str) -> int:
    """Return the number of replicas of the topic's partition that are in sync."""
    with closing(ClusterQueries({"bootstrap.servers": pair.servers}, 10)) as queries:
        return queries.topics([topic])[topic].partitions[0].in_sync
