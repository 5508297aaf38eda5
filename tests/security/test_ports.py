# SPDX-License-Identifier: Apache-2.0
"""What listens on a worker's machine is what docs/security.md lists, at the address and port that it says."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import psutil

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.broker.free_port import free_port
from tests.support.polling import wait_for
from tests.support.worker_process import ROOT, WorkerProcess

ROW = re.compile(r"\| (?P<process>[^|]+) \| [^|]+ \| [^|]+ \| (?P<property>[^|]+) \| ")
NONE = "none"


def documented(process: str) -> list[str]:
    """The properties that fix the ports of a process in local mode, in the table's words."""
    section = (ROOT / "docs" / "security.md").read_text().partition("\n## Ports\n")[2]
    local = section.partition("\nOn a Spark cluster")[0]
    rows = [match for line in local.splitlines() if (match := ROW.match(line))]
    found = [row["property"].strip("` ") for row in rows if row["process"] == process]
    assert found, process
    return found


def listening(process: psutil.Process) -> dict[int, str]:
    """Addresses by ports; of UDP, all that are no connection's."""
    try:
        sockets = process.net_connections("inet")
    except psutil.Error:
        return {}
    return {
        each.laddr.port: each.laddr.ip.removeprefix("::ffff:")
        for each in sockets
        if each.status == psutil.CONN_LISTEN or (each.type == socket.SOCK_DGRAM and not each.raddr)
    }


def assert_as_documented(process: str, found: dict[int, str], fixed: dict[str, int]) -> None:
    names = documented(process)
    known = {fixed[name] for name in names if name != NONE}
    assert known <= found.keys(), (process, found, fixed)
    assert len(found) == len(names), (process, found, names)
    assert set(found.values()) == {"127.0.0.1"}, (process, found)


def test_a_worker_listens_where_the_table_says_and_nowhere_else(
    own_worker: WorkerProcess, unique: str, tmp_path: Path
) -> None:
    spark = ("spark.driver.port", "spark.driver.blockManager.port", "spark.ui.port")
    fixed = {name: free_port() for name in (*spark, "admin.listeners")} | {"listeners": own_worker.port}
    own_worker.properties |= {name: str(fixed[name]) for name in spark}
    own_worker.properties["admin.listeners"] = f"http://127.0.0.1:{fixed['admin.listeners']}"
    own_worker.properties["spark.ui.enabled"] = "true"
    own_worker.start()
    (tmp_path / "lines").write_text("line\n")
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "lines"), "topic": unique, "tasks.max": "1"}
    step = {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": "SELECT value FROM records"}
    own_worker.create(unique, **source, **step)
    own_worker.wait_for_tasks(unique)
    jvm = own_worker.jvm()
    wait_for(lambda: len(listening(jvm)) >= len(documented("Spark's JVM")), 30, lambda: str(listening(jvm)))
    assert_as_documented("worker", listening(psutil.Process(own_worker.pid)), fixed)
    assert_as_documented("Spark's JVM", listening(jvm), fixed)
    others = [each for each in own_worker.descendants() if each.pid != jvm.pid]
    assert others and {each.pid: ports for each in others if (ports := listening(each))} == {}


def test_the_broker_listens_where_the_table_says_and_nowhere_else(broker: EmbeddedBroker) -> None:
    assert broker.pid is not None
    port = int(broker.bootstrap_servers.rpartition(":")[2])
    assert_as_documented("broker", listening(psutil.Process(broker.pid)), {"--port": port})
