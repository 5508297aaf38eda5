# SPDX-License-Identifier: Apache-2.0
"""Where a worker's secrets may not be seen: canaries in all places that take some, looked for in all that show some."""

from __future__ import annotations

import base64
import os
import re
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psutil
import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.polling import wait_for
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

CANARY = re.compile(rb"canary-\w+")
RPC_REQUEST = 3
"""The type of a message of Spark's."""
USER, PASSWORD = "operator", "canary-rest"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("lines") / "lines.txt"
    file.write_text("one\n")
    return file


@pytest.fixture(scope="module")
def seen() -> set[bytes]:
    """Canaries that were seen on command lines while the worker started."""
    return set()


@pytest.fixture(scope="module")
def worker(
    broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory, seen: set[bytes], lines: Path
) -> Iterator[WorkerProcess]:
    """With authentication, a UI of Spark's that was asked for, and no umask; its connector runs."""
    directory = tmp_path_factory.mktemp("secrets")
    (directory / "users.properties").write_text(f"{USER}={PASSWORD}\n")
    (directory / "values.properties").write_text(
        f"worker={jaas('canary-worker')}\nconnector={jaas('canary-provider')}\n"
    )
    values = f"${{file:{directory}/values.properties:"
    process = WorkerProcess(
        directory,
        broker.bootstrap_servers,
        **{
            "group.id": "headrace-secrets-tests",
            "rest.extension.classes": "BasicAuthSecurityRestExtension",
            "rest.basic.auth.credentials.file": str(directory / "users.properties"),
            "config.providers": "file",
            "config.providers.file.class": "FileConfigProvider",
            "config.providers.file.param.allowed.paths": str(directory),
            "sasl.jaas.config": f"{values}worker}}",
            "producer.sasl.jaas.config": jaas("canary-producer"),
            "spark.authenticate.secret": "canary-authenticate",
            "spark.hadoop.fs.s3a.secret.key": "canary-secretkey",
            "spark.own.ordinary": "canary-ordinary",
            "spark.driver.extraJavaOptions": "-Down.password=canary-java",
            "spark.ui.enabled": "true",
            "spark.ui.port": "0",
        },
    )
    process.rest.auth = (USER, PASSWORD)
    former = os.umask(0)
    try:
        process.launch()
        config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": "secrets-lines"}
        config["producer.override.sasl.jaas.config"] = f"{values}connector}}"

        def running() -> bool:
            assert process.launched.poll() is None, process.log[-3000:]
            seen.update(canaries_on_command_lines())
            try:
                process.rest.put("/connectors/secrets/config", json=config)
                return process.task_states("secrets") == ["RUNNING"]
            except httpx2.TransportError:
                return False

        wait_for(running, 60, lambda: process.log[-3000:])
        yield process
    finally:
        os.umask(former)
        process.close()


def test_a_connector_with_secrets_works(worker: WorkerProcess, broker: EmbeddedBroker) -> None:
    assert wait_for_values(broker.bootstrap_servers, "secrets-lines", 1) == [b"one"]


def test_no_command_line_contains_a_secret_at_any_time(worker: WorkerProcess, seen: set[bytes]) -> None:
    assert seen | canaries_on_command_lines() == set()


def test_no_process_environment_contains_a_secret(worker: WorkerProcess) -> None:
    found = {(each.pid, canary) for each in tree(worker) for canary in canaries(proc(each.pid, "environ"))}
    assert found == set()


def test_no_file_that_other_users_can_read_contains_a_secret(worker: WorkerProcess) -> None:
    born = psutil.Process(worker.pid).create_time()
    found = {(file, canary) for file in readable_by_others(Path("/tmp"), born) for canary in canaries(content(file))}
    assert found == set()


def test_sockets_and_temporary_files_are_in_a_directory_for_the_worker_alone(worker: WorkerProcess) -> None:
    """The worker was started without a umask."""
    mine = {inode for each in tree(worker) for inode in open_sockets(each.pid)}
    paths = [Path(words[7]) for words in unix_sockets() if len(words) > 7 and words[6] in mine and words[7][0] == "/"]
    assert paths, "the task channel's, at least"
    assert [path for path in paths if path.exists() and not kept_from_others(path)] == []
    assert (
        not list(jvm_directory(worker).glob("*.properties.*"))
        and not (jvm_directory(worker) / "spark.properties").exists()
    ), "what is needed for the start only is gone after it"


def test_no_core_dumps(worker: WorkerProcess) -> None:
    for each in tree(worker):
        limit = next(line for line in proc(each.pid, "limits").decode().splitlines() if "core file" in line)
        assert limit.split()[4] == "0", each


def test_log_and_answers_contain_no_secret(worker: WorkerProcess) -> None:
    paths = ["/", "/connectors?expand=info&expand=status", "/connectors/secrets", "/connectors/secrets/config"]
    paths += ["/connectors/secrets/tasks", "/connectors/secrets/status?expand=spark", "/metrics", "/admin/loggers"]
    shown = {path: worker.rest.get(path) for path in paths}
    assert {answer.status_code for answer in shown.values()} == {200}
    assert {path for path, answer in shown.items() if CANARY.search(answer.content)} == set()
    assert CANARY.search(worker.log.encode()) is None


def test_sparks_ui_is_this_machines_alone_and_only_shows(worker: WorkerProcess) -> None:
    """It asks for no user name, so it is there with authentication on only because it was asked for."""
    found = re.search(r"UI at http://localhost:(\d+)", worker.log)
    assert found is not None, "the address in the log is one that leads there"
    port = int(found[1])
    ui = httpx2.Client(base_url=f"http://localhost:{port}", timeout=60)
    jobs = ui.get("/jobs/").text
    assert "secrets/0" in jobs and "/kill" not in jobs
    for path in ("/jobs/job/kill/?id=0", "/threadDump/?executorId=driver", "/heapHistogram/?executorId=driver"):
        answer = ui.get(path)
        # What Spark does with a page that there is not: it shows the first one, or says that no user may ask so.
        first = answer.headers.get("location", "").endswith(f":{port}/jobs/")
        assert (answer.status_code, first) in ((302, True), (405, False)), path
    assert "secrets/0" in ui.get("/jobs/").text
    for address in other_addresses():
        with pytest.raises(ConnectionRefusedError), socket.create_connection((address, port), 5):
            pass


def test_sparks_driver_refuses_unauthenticated_connections(worker: WorkerProcess) -> None:
    """It made Java objects of whatever came."""
    body = struct.pack(">bqi", RPC_REQUEST, 7, 16) + bytes(16)
    ports = {each.laddr.port for each in worker.jvm().net_connections("tcp") if each.status == psutil.CONN_LISTEN}
    request = struct.pack(">q", 8 + len(body)) + body

    def spoken() -> bytes:
        answers = [answer_of(port, request) for port in ports]
        return next((each for each in answers if b"SaslMessage" in each or b"ObjectInputStream" in each), b"")

    assert b"Expected SaslMessage" in wait_for(spoken, 30, "an answer of the driver's port")


def answer_of(port: int, request: bytes) -> bytes:
    """What comes back within a moment; ports that speak otherwise say nothing, or hang up."""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.settimeout(5)
        connection.sendall(request)
        try:
            return connection.recv(4096)
        except OSError:
            return b""


def jaas(password: str) -> str:
    return f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{password}";'


def canaries(data: bytes) -> set[bytes]:
    """As they are, and as basic authentication writes them."""
    encoded = base64.b64encode(f"{USER}:{PASSWORD}".encode())
    return {*CANARY.findall(data), *({b"basic"} if encoded in data else ())}


def canaries_on_command_lines() -> set[bytes]:
    return {canary for pid in psutil.pids() for canary in canaries(proc(pid, "cmdline"))}


def tree(worker: WorkerProcess) -> list[psutil.Process]:
    return [psutil.Process(worker.pid), *worker.descendants()]


def proc(pid: int, name: str) -> bytes:
    return content(Path(f"/proc/{pid}/{name}"))


def content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it has ended
        return b""


def readable_by_others(top: Path, since: float) -> Iterator[Path]:
    """Files written since then; what others cannot enter is not looked into."""
    for directory, names, files in os.walk(top):
        names[:] = [name for name in names if _mode(Path(directory, name)) & stat.S_IXOTH]
        for file in (Path(directory, name) for name in files):
            mode = _mode(file)
            if stat.S_ISREG(mode) and mode & stat.S_IROTH and file.stat().st_mtime >= since:
                yield file


def _mode(file: Path) -> int:
    try:
        return file.lstat().st_mode
    except OSError:
        return 0


def kept_from_others(path: Path) -> bool:
    return any(_mode(parent) & 0o077 == 0 for parent in path.parents)


def open_sockets(pid: int) -> set[str]:
    found = set()
    try:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(handle))
            found.update([match[1]] if match else [])
    except OSError:
        pass
    return found


def unix_sockets() -> list[list[str]]:
    return [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]


def jvm_directory(worker: WorkerProcess) -> Path:
    named = re.search(
        r"--properties-file=?\x00?([^\x00]+)/spark\.properties", proc(worker.jvm().pid, "cmdline").decode()
    )
    assert named is not None
    return Path(named[1])


def other_addresses() -> list[str]:
    """This machine's, but for loopback."""
    interfaces = psutil.net_if_addrs().values()
    found = [each.address for interface in interfaces for each in interface if each.family == socket.AF_INET]
    return [address for address in found if not address.startswith("127.")]
