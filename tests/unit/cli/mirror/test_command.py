# SPDX-License-Identifier: Apache-2.0
"""Mistakes that `headrace mirror` reports in one line before it starts a worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace import KAFKA_VERSION
from headrace.cli.main import app
from headrace.cli.mirror import node

BASIC = {"clusters": "A, B", "A.bootstrap.servers": "a:1", "B.bootstrap.servers": "b:1", "A->B.enabled": "true"}


def mirror(directory: Path, properties: dict[str, str], *options: str) -> tuple[int, str]:
    file = directory / "mm2.properties"
    file.write_text("".join(f"{name} = {value}\n" for name, value in properties.items()))
    result = CliRunner().invoke(app, ["mirror", str(file), *options])
    assert result.stdout == ""
    return result.exit_code, result.stderr


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*arguments: object) -> None:
        raise AssertionError(f"a worker is started: {arguments}")

    monkeypatch.setattr(node, "start_child", start)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["mirror", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert result.stderr == f"Error: Properties file {tmp_path / 'none'} cannot be read: No such file or directory\n"


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"clusters": ""}, (), "clusters is missing or empty"),
        ({"B.bootstrap.servers": ""}, (), "B.bootstrap.servers is missing or empty"),
        ({"B->C.enabled": "true"}, (), "cluster C is not in clusters = A, B"),
        ({}, ("--clusters", "A,C"), "'C' for configuration --clusters: cluster C is not in clusters = A, B"),
        ({"emit.heartbeats.enabled": "false"}, ("--clusters", "A"), "No pair of clusters = A, B is enabled to A"),
        ({"B.session.timeout.ms": "soon"}, (), "Worker of A->B: Invalid value 'soon' for configuration session"),
        ({"dedicated.mode.enable.internal.rest": "true", "listeners": "here"}, (),
         "Worker of A->B: Invalid value 'here' for configuration listeners"),
    ],
)  # fmt: skip
def test_a_mistake(tmp_path: Path, changes: dict[str, str], options: tuple[str, ...], message: str) -> None:
    code, err = mirror(tmp_path, {**BASIC, **changes}, *options)
    assert code == 2
    assert err.startswith("Error: ") and message in err and err.count("\n") == 1


def test_without_mirror_maker_the_command_that_installs_it_is_named(tmp_path: Path) -> None:
    code, err = mirror(tmp_path, {**BASIC, "plugin.path": str(tmp_path)})
    assert code == 2
    assert f"headrace plugins install org.apache.kafka:connect-mirror:{KAFKA_VERSION} --into {tmp_path}" in err
    assert err.count("\n") == 1
