# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from headrace.broker.broker_files import new_uuid, server_properties, write_configuration, write_storage
from headrace.broker.embedded_broker import reason_of_death
from headrace.broker.free_port import free_port, is_free


def test_own_properties_win_over_those_of_a_single_node(tmp_path: Path) -> None:
    properties = server_properties(1234, 5678, tmp_path, {"offsets.topic.num.partitions": "9", "x": "y"})
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1234"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:5678"
    assert properties["transaction.state.log.min.isr"] == "1"
    assert properties["offsets.topic.num.partitions"] == "9"
    assert properties["x"] == "y"


def test_a_listener_behind_a_proxy_sends_its_clients_to_the_proxy(tmp_path: Path) -> None:
    properties = server_properties(1234, 5678, tmp_path, {}, {1235: 99})
    assert properties["listeners"] == (
        "PLAINTEXT://127.0.0.1:1234,PROXIED1235://127.0.0.1:1235,CONTROLLER://127.0.0.1:5678"
    )
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1234,PROXIED1235://127.0.0.1:99"
    assert "PROXIED1235:PLAINTEXT" in properties["listener.security.protocol.map"].split(",")


def test_configuration_is_written_as_java_reads_it(tmp_path: Path) -> None:
    path = write_configuration(tmp_path, {"a": "c:\\d", "b": "é😀\nz"})
    assert path.read_bytes() == b"a=c:\\\\d\nb=\\u00e9\\ud83d\\ude00\\nz\n"
    assert str(tmp_path / "broker.log") in (tmp_path / "log4j2.properties").read_text()


def test_storage_is_formatted_once(tmp_path: Path) -> None:
    write_storage(tmp_path, b"first")
    meta = (tmp_path / "topics" / "meta.properties").read_text()
    write_storage(tmp_path, b"second")
    assert (tmp_path / "topics" / "bootstrap.checkpoint").read_bytes() == b"first"
    assert (tmp_path / "topics" / "meta.properties").read_text() == meta
    assert {line.split("=")[0] for line in meta.splitlines()} == {"version", "node.id", "cluster.id", "directory.id"}


def test_uuids_are_in_kafkas_spelling() -> None:
    uuids = {new_uuid() for _ in range(500)}
    assert len(uuids) == 500
    assert all(len(uuid) == 22 and not uuid.startswith("-") for uuid in uuids)


def test_a_free_port_lies_below_the_range_of_outgoing_connections() -> None:
    port = free_port()
    assert 20_000 <= port < 32_768 and is_free(port)


def test_the_reason_of_death_is_the_last_exception() -> None:
    text = (
        "[2026-01-01 00:00:00,000] INFO all is well (kafka.Kafka$)\n"
        "[2026-01-01 00:00:00,001] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)\n"
        "org.apache.kafka.common.KafkaException: Failed to acquire lock on file .lock in /x.\n"
        "\tat kafka.Main\n"
        "[2026-01-01 00:00:00,002] INFO shut down (kafka.Kafka$)\n"
    )
    assert reason_of_death(text) == "Failed to acquire lock on file .lock in /x."


def test_the_reason_of_death_is_an_error_line_or_the_last_line_where_there_is_no_exception() -> None:
    assert reason_of_death("[t] FATAL bad disk (k)\n[t] INFO bye (k)\n") == "bad disk (k)"
    assert reason_of_death("Unrecognized option: -Xnonsense\n\n") == "Unrecognized option: -Xnonsense"
    assert reason_of_death("") == "it wrote nothing"
