# SPDX-License-Identifier: Apache-2.0
"""`headrace doctor` with the checks that wait for no server."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.doctor import checks

LOCAL = tuple(
    check for check in checks.CHECKS if check.name in ("python", "properties", "listeners", "config providers")
)
WORKER = """bootstrap.servers=127.0.0.1:1
key.converter=StringConverter
value.converter=StringConverter
"""
GROUP = WORKER + "group.id=g\nconfig.storage.topic=c\noffset.storage.topic=o\nstatus.storage.topic=s\n"


@pytest.fixture(autouse=True)
def local_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECKS", LOCAL)


def run(tmp_path: Path, text: str, *options: str) -> tuple[int, str]:
    file = tmp_path / "worker.properties"
    file.write_text(text)
    result = CliRunner().invoke(app, ["doctor", str(file), *options])
    return result.exit_code, result.output


def test_without_a_file() -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert result.output.startswith("ok       python            CPython 3.")


@pytest.mark.parametrize(
    ("text", "kind"), [(GROUP, "distributed"), (WORKER + "offset.storage.file.filename=offsets\n", "standalone")]
)
def test_the_kind_of_a_worker(tmp_path: Path, text: str, kind: str) -> None:
    code, output = run(tmp_path, text + "listeners=http://127.0.0.1:0\n")
    assert code == 0
    assert f"properties of a {kind} worker" in output


def test_mistakes_are_a_problem(tmp_path: Path) -> None:
    code, output = run(tmp_path, GROUP + "exactly.once.source.suport=enabled\n")
    assert code == 1
    assert "did you mean 'exactly.once.source.support'?" in output


def test_a_config_provider_s_missing_file_is_a_problem(tmp_path: Path) -> None:
    provider = "config.providers=file\nconfig.providers.file.class=FileConfigProvider\n"
    code, output = run(tmp_path, f"{GROUP}{provider}sasl.jaas.config=${{file:{tmp_path}/missing:a}}\n")
    assert code == 1
    assert f"{tmp_path}/missing cannot be read" in output


def test_a_taken_port_as_json(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code, output = run(tmp_path, f"{GROUP}listeners=http://127.0.0.1:{port}\n", "-o", "json")
    assert code == 1
    (found,) = [each for each in json.loads(output)["findings"] if each["check"] == "listeners"]
    assert found["level"] == "problem" and "the port is in use" in found["found"] and found["remedy"]


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["doctor", str(tmp_path / "missing")])
    assert result.exit_code == 2
    assert "cannot be read" in result.output
