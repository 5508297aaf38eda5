# SPDX-License-Identifier: Apache-2.0
"""The embedded broker, its jars and its command line, for real."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from faults.inject import start_again
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.broker import embedded_broker
from headrace.broker.embedded_broker import QUICK_START_JVM_OPTIONS, EmbeddedBroker
from headrace.broker.free_port import free_port
from headrace.jvm.ivy import resolve_jars
from tests.support.polling import wait_for

COMMAND = [sys.executable, "-c", "import typer; from headrace.cli.broker import broker; typer.run(broker)"]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(port=0, jvm_options=QUICK_START_JVM_OPTIONS) as running:
        yield running


def write_in_transaction(broker: EmbeddedBroker, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "t"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    producer.commit_transaction(30)


def read(broker: EmbeddedBroker, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        messages = consumer.consume(count, timeout=30)
        return [message.value().decode() for message in messages if message.error() is None]
    finally:
        consumer.close()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(pid: int) -> None:
    wait_for(lambda: not is_running(pid), 10, f"the end of process {pid}")


def test_transactions_survive_a_crash_and_a_restart_on_the_same_port(broker: EmbeddedBroker) -> None:
    address, first_pid = broker.bootstrap_servers, broker.pid
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(30)
    write_in_transaction(broker, "kept", ["a", "b"])
    broker.kill()
    assert broker.pid is None
    broker.start()
    assert read(broker, "kept", 2) == ["a", "b"]
    broker.restart()
    write_in_transaction(broker, "kept", ["c"])
    assert read(broker, "kept", 3) == ["a", "b", "c"]
    assert broker.bootstrap_servers == address and broker.pid not in (None, first_pid)


def test_a_log_that_is_rolled_while_the_broker_is_started_again_does_not_hold_it_up(broker: EmbeddedBroker) -> None:
    broker.kill()
    os.truncate(broker.log_path, (20 << 20) - 1000)  # it is rolled at 20 MB
    broker.start(30)
    assert broker.log_path.stat().st_size < 10 << 20
    assert AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10).brokers


def test_a_run_of_faults_starts_a_broker_until_it_is_there(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.kill()
    reason = "could not end the session of its last life"
    with pytest.raises(AssertionError, match=rf"not within 0\.1 s: the broker again, after 1 attempts: .* {reason}"):
        start_again(broker, 0.1, 0.1)
    too_short, start = iter([0.1, 0.1]), broker.start
    monkeypatch.setattr(broker, "start", lambda timeout: start(next(too_short, timeout)))
    failures = start_again(broker)
    assert len(failures) == 2 and all(reason in failure for failure in failures)
    assert AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10).brokers


def test_properties_reach_the_broker_and_a_temporary_directory_goes() -> None:
    broker = EmbeddedBroker(port=0, properties={"num.partitions": "3"}, jvm_options=QUICK_START_JVM_OPTIONS)
    with broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("three", -1, 1)])["three"].result(30)
        # A created topic may come to the brokers' metadata a moment later.
        wait_for(lambda: len(admin.list_topics("three", timeout=30).topics["three"].partitions) == 3, 30, "partitions")
        pid, data_dir = broker.pid, broker.data_dir
        assert pid is not None and data_dir.exists()
    wait_until_gone(pid)
    assert not data_dir.exists()


def test_a_busy_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"Port {port} .* in use .*port={port}") as caught:
            EmbeddedBroker(tmp_path, port).start()
    assert "\n" not in str(caught.value)


def test_ports_that_others_take_meanwhile_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
            each.listen()
        taken = [first.getsockname()[1], second.getsockname()[1]]
        # Of the clients' port at first, then of the controller's.
        ports = iter([taken[0], free_port(), taken[1]])
        monkeypatch.setattr(embedded_broker, "free_port", lambda *_: next(ports, None) or free_port())
        with EmbeddedBroker(tmp_path, port=0, jvm_options=QUICK_START_JVM_OPTIONS) as broker:
            assert int(broker.bootstrap_servers.rpartition(":")[2]) not in taken
            assert broker.pid is not None
        assert "Address already in use" in broker.log_path.read_text()
        assert next(ports, None) is None


def test_clients_and_controller_have_ports_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    choices = iter([port, port, port])
    choose = random.choice
    monkeypatch.setattr(random, "choice", lambda candidates: next(choices, None) or choose(candidates))
    with EmbeddedBroker(tmp_path, port=0, jvm_options=QUICK_START_JVM_OPTIONS) as broker:
        assert broker.bootstrap_servers.endswith(f":{port}")
    assert next(choices, None) is None


def test_a_data_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    with pytest.raises(ConfigError, match=rf"{blocker}/sub \(data_dir\) cannot be written: Not a directory"):
        EmbeddedBroker(blocker / "sub", 0).start()


def test_a_broker_that_dies_at_start_shows_why_and_where_its_log_is(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path, 0, {"num.io.threads": "many"}, QUICK_START_JVM_OPTIONS)
    with pytest.raises(ConnectError, match=r"num\.io\.threads") as caught:
        broker.start()
    assert str(broker.log_path) in str(caught.value) and "\n" not in str(caught.value)
    assert broker.pid is None


def test_a_data_directory_in_use_is_refused_without_harm(broker: EmbeddedBroker) -> None:
    with pytest.raises(ConfigError, match=rf"{broker.data_dir} \(data_dir\) is in use by another broker"):
        EmbeddedBroker(broker.data_dir, 0).start()
    assert AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10).brokers


def start_command(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """The running command and the line it prints when the broker is ready."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline()


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(word) for word in found.split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_runs_until_it_is_stopped(number: signal.Signals, tmp_path: Path) -> None:
    process, ready = start_command("--port", "0", "--data-dir", str(tmp_path))
    (java,) = children_of(process.pid)
    address = ready.split("bootstrap.servers=")[1].split()[0]
    assert AdminClient({"bootstrap.servers": address}).list_topics(timeout=10).brokers
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0 and output == "Kafka has stopped\n" and errors == ""
    assert not is_running(java)


def test_the_broker_does_not_outlive_a_killed_command(tmp_path: Path) -> None:
    process, _ = start_command("--port", "0", "--data-dir", str(tmp_path))
    (java,) = children_of(process.pid)
    process.kill()
    process.communicate(timeout=30)
    wait_until_gone(java)


def test_the_command_ends_when_the_broker_does(tmp_path: Path) -> None:
    process, _ = start_command("--port", "0", "--data-dir", str(tmp_path))
    os.kill(children_of(process.pid)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.startswith("Error: The broker ended by itself.") and errors.count("\n") == 1


def test_the_commands_errors_are_one_line(broker: EmbeddedBroker, tmp_path: Path) -> None:
    port = broker.bootstrap_servers.split(":")[1]
    process, ready = start_command("--port", port, "--data-dir", str(tmp_path))
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, ready) == (1, "")
    assert errors.startswith("Error: ") and errors.count("\n") == 1 and "Traceback" not in errors


def test_jars_come_with_their_dependencies(tmp_path: Path) -> None:
    jars = resolve_jars(["org.slf4j:slf4j-nop:1.7.36"], tmp_path)
    assert [jar.name for jar in jars] == ["slf4j-api-1.7.36.jar", "slf4j-nop-1.7.36.jar"]
    assert all(jar.stat().st_size > 1000 for jar in jars)


def test_an_unknown_artifact_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the repository has no org\.slf4j:slf4j-api:0\.0\.0"):
        resolve_jars(["org.slf4j:slf4j-api:0.0.0"], tmp_path)


def test_an_unreachable_repository_is_retriable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    with pytest.raises(RetriableError, match=r"slf4j-nop:1\.7\.36: the repository cannot be reached \(Connection"):
        resolve_jars(["org.slf4j:slf4j-nop:1.7.36"], tmp_path)
