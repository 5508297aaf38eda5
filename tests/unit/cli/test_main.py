# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py4j import protocol
from py4j.java_gateway import GatewayClient, GatewayParameters
from typer.testing import CliRunner

from headrace import __version__
from headrace.api.errors import ConfigError, ConnectError
from headrace.cli.console import LogLevel, configure_logging, fail, use_log_format
from headrace.cli.main import app
from headrace.logs.context import log_context
from headrace.spark.task.spark_task_launcher import SparkTaskLauncher

WORKER = {
    "group.id": "g",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}


def invoke(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(args))
    return result.exit_code, result.stdout, result.stderr


def worker_file(directory: Path, **changes: str) -> str:
    properties = WORKER | {key.replace("_", "."): text for key, text in changes.items()}
    path = directory / "worker.properties"
    path.write_text("".join(f"{key}={text}\n" for key, text in properties.items()))
    return str(path)


def test_version() -> None:
    assert invoke("version") == (0, f"headrace {__version__}\n", "")


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise SystemExit('a connector has written this')")
    command = [sys.executable, "-m", "headrace", "version"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == (f"headrace {__version__}\n", "")


def test_help_names_every_command() -> None:
    code, out, _ = invoke("--help")
    assert code == 0
    assert all(command in out for command in ("distributed", "standalone", "broker", "version"))


def test_a_missing_properties_file_is_reported_in_one_line(tmp_path: Path) -> None:
    code, out, err = invoke("distributed", str(tmp_path / "none"))
    assert (code, out) == (2, "")
    assert err == f"Error: Properties file {tmp_path / 'none'} cannot be read: No such file or directory\n"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"group_id": ""}, "group.id"),
        ({"heartbeat_interval_ms": "soon"}, "'soon' for configuration heartbeat.interval.ms"),
        ({"listeners": "here"}, "'here' for configuration listeners"),
        (
            {"listeners": "https://:0"},
            "for configuration ssl.keystore.location: an https listener needs a file with a key",
        ),
    ],
)
def test_a_bad_property_is_reported_in_one_line(tmp_path: Path, changes: dict[str, str], text: str) -> None:
    code, _, err = invoke("distributed", worker_file(tmp_path, **changes))
    assert code == 2
    assert text in err
    assert err.startswith("Error: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"key_converter": "NoSuchConverter"}, "'NoSuchConverter' for configuration key.converter"),
        ({"header_converter": "NoSuchConverter"}, "'NoSuchConverter' for configuration header.converter"),
        ({"connector_client_config_override_policy": "NoSuch"}, "'NoSuch' for configuration connector.client.config"),
        ({"rest_extension_classes": "no.such:Extension"}, "for configuration rest.extension.classes"),
        ({"rest_extension_classes": "com.acme.Extension"}, "a rest extension has to be a class in Python"),
        ({"rest_extension_classes": "java:com.acme.Extension"}, "those in Java are not supported"),
        ({"connector_client_config_override_policy": "org.acme.Policy"}, "those in Java are not supported"),
        ({"rest_authentication": "certificate"}, "for configuration rest.authentication"),
        ({"retry_backoff_ms": "soon"}, "'soon' for configuration retry.backoff.ms"),
    ],
)
def test_a_bad_property_is_refused_before_spark_is_started(
    tmp_path: Path, changes: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[SparkTaskLauncher] = []
    monkeypatch.setattr(SparkTaskLauncher, "prepare", started.append)
    code, _, err = invoke("distributed", worker_file(tmp_path, listeners="http://127.0.0.1:0", **changes))
    assert (code, started) == (2, []), err
    assert text in err
    assert err.startswith("Error: ") and err.count("\n") == 1


def test_a_busy_port_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listener = f"http://127.0.0.1:{taken.getsockname()[1]}"
        code, _, err = invoke("distributed", worker_file(tmp_path, listeners=listener))
    assert code == 2
    assert err == (
        f"Error: Invalid value '{listener}' for configuration listeners: cannot listen there: the port is in use\n"
    )


def test_an_error_becomes_one_line_and_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    for error, code in ((ConfigError("bad\n  value"), 2), (ConnectError("failed"), 1)):
        with pytest.raises(BaseException) as raised:
            fail(error)
        assert raised.value.exit_code == code  # type: ignore[attr-defined]
    assert capsys.readouterr().err == "Error: bad value\nError: failed\n"


def test_names_of_metrics_that_are_none(tmp_path: Path) -> None:
    code, _, err = invoke("distributed", worker_file(tmp_path, bootstrap_servers="b:1", metrics_naming="java"))
    said = "Invalid value 'java' for configuration metrics.naming: String must be one of: strimzi, confluent, both"
    assert (code, err) == (2, f"Error: {said}\n")


def test_log_lines_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = invoke("distributed", worker_file(tmp_path, bootstrap_servers="b:1", log_format="xml"))
    assert (code, err) == (
        2,
        "Error: Invalid value 'xml' for configuration log.format: String must be one of: text, json\n",
    )
    configure_logging(LogLevel.INFO)
    use_log_format("json")
    with log_context("c"):
        logging.getLogger("headrace.x").info("said")
    [line] = [json.loads(text) for text in capsys.readouterr().err.splitlines() if text.startswith("{")]
    assert (line["level"], line["connector.context"], line["message"]) == ("INFO", "[c|worker]", "said")


def test_a_jvm_that_ends_during_a_call_leaves_no_stack_trace(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogLevel.INFO)
    with socket.create_server(("127.0.0.1", 0)) as jvm, ThreadPoolExecutor() as threads:
        client = GatewayClient(gateway_parameters=GatewayParameters(port=jvm.getsockname()[1]))
        answer = threads.submit(client.send_command, "c\n", False)
        connection, _ = jvm.accept()
        connection.recv(2)
        connection.close()
    assert answer.result() == protocol.ERROR
    assert capsys.readouterr().err == ""


def test_log_lines_show_time_level_and_context(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogLevel.INFO)
    logging.getLogger("headrace.x").info("plain")
    logging.getLogger("headrace.x").warning("of a task", extra={"connector_context": "[c|task-0] "})
    logging.getLogger("headrace.x").debug("too much")
    logging.getLogger("other.library").info("too much")
    logging.getLogger("kafka.client").error("logged by headrace")
    lines = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["INFO plain", "WARNING [c|task-0] of a task"]
