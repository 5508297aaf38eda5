# SPDX-License-Identifier: Apache-2.0
"""`headrace init`."""

from __future__ import annotations

import json
import shlex
import stat
from configparser import ConfigParser
from pathlib import Path

from typer.testing import CliRunner

from headrace.cli.connector_files import check_classes, read_connector_file
from headrace.cli.main import app
from headrace.cli.worker_properties import check_worker_properties
from headrace.config.distributed_config import DistributedConfig
from headrace.config.properties_file import read_properties
from headrace.doctor.findings import Level
from headrace.doctor.security import check_security
from headrace.doctor.subject import Subject
from headrace.plugins.discovery import plugins_of

FILES = ("worker.properties", "connector.json", "headrace.service")


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["init", *map(str, arguments)])
    return result.exit_code, result.output


def test_what_it_prints(tmp_path: Path) -> None:
    directory = tmp_path / "a worker"
    code, output = run(directory)
    assert code == 0
    assert output.splitlines()[:3] == [f"wrote {directory / name}" for name in FILES]
    commands = [shlex.split(line) for line in output.splitlines() if line.startswith("  ")]
    assert [command[:2] for command in commands] == [
        ["headrace", "doctor"],
        ["headrace", "distributed"],
        ["headrace", "connectors"],
    ]
    assert commands[0][2] == str(directory / "worker.properties")
    assert commands[2][2:] == ["create", "-f", str(directory / "connector.json"), "--wait"]


def test_the_worker_s_properties_have_no_mistake_and_pass_the_checklist(tmp_path: Path) -> None:
    run(tmp_path)
    file = tmp_path / "worker.properties"
    raw = read_properties(file)
    check_worker_properties(DistributedConfig, raw)
    config = DistributedConfig(raw)
    assert config.exactly_once_source_enabled
    assert not file.stat().st_mode & stat.S_IROTH
    assert [each.level for each in check_security(Subject(str(file), raw, config))] == [Level.OK]
    connector = read_connector_file(tmp_path / "connector.json")
    check_classes([connector], plugins_of(raw))
    assert set(json.loads((tmp_path / "connector.json").read_text())) == {"name", "config"}


def test_the_lines_that_are_commented_out_are_properties_too(tmp_path: Path) -> None:
    run(tmp_path)
    lines = (tmp_path / "worker.properties").read_text().splitlines()
    commented = [line.removeprefix("# ") for line in lines if line.startswith("# ") and "=" in line.split(" ")[1]]
    file = tmp_path / "more.properties"
    file.write_text("\n".join([*lines, *commented]))
    raw = read_properties(file)
    assert "rest.authentication" in raw and "sasl.jaas.config" in raw
    check_worker_properties(DistributedConfig, raw)


def test_the_unit(tmp_path: Path) -> None:
    directory = tmp_path / "a 100% worker"
    run(directory)
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(directory / "headrace.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith(f'distributed "{tmp_path}/a 100%% worker/worker.properties"')
    assert service["KillMode"] == "control-group" and service["Restart"] == "on-failure"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    existing = tmp_path / "connector.json"
    existing.write_text("mine")
    code, output = run(tmp_path)
    assert code == 2
    assert f"These files exist: {existing}. Use --force" in output
    assert existing.read_text() == "mine" and not (tmp_path / "worker.properties").exists()
    assert run(tmp_path, "--force")[0] == 0
    assert existing.read_text() != "mine"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, output = run(tmp_path / "file" / "below")
    assert code == 2
    assert "cannot be written: Not a directory" in output
