# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.broker import broker_template
from headrace.cli.main import app


def test_a_busy_port_is_named_before_kafka_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*args: Any) -> None:
        raise AssertionError("it is downloaded")

    monkeypatch.setattr(broker_template, "broker_template", download)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        result = CliRunner().invoke(app, ["broker", "--port", str(port)])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: Port {port} of 127.0.0.1 is in use") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("line", ["nonsense", "=value"])
def test_a_property_that_is_none_is_a_mistake_of_usage(line: str) -> None:
    result = CliRunner().invoke(app, ["broker", "--set", line])
    assert result.exit_code == 2
    words = " ".join(result.stderr.replace("│", " ").split())
    assert f"Invalid value for --set: '{line}' is not KEY=VALUE" in words, result.stderr
