# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.plan.export_command import file_name
from headrace.model.state import TargetState
from tests.unit.cli.ctl.conftest import Commands
from tests.unit.cli.plan.conftest import PlanCluster


@pytest.fixture(autouse=True)
def odd_values(cluster: PlanCluster) -> None:
    cluster.configs["odd/näme"] = {
        "name": "odd/näme",
        "connector.class": "FileStreamSource",
        "topic": "t",
        "a": "true",
        "b": "1.50",
        "c": " blanks # and: {more} ",
        "d": "$(NAME) $$(NAME) ${env:NAME}",
        "e": "two\nlines\t\\u00e9 \u2028 \U0001f600",
        "f": "",
        "g": "null",
        "h=": "!x=1",
    }
    cluster.states["odd/näme"] = TargetState.PAUSED


@pytest.mark.parametrize("form", ["yaml", "json", "properties"])
def test_what_is_exported_plans_to_no_changes(form: str, commands: Commands, tmp_path: Path) -> None:
    code, out, err = commands.run("export", "-d", "d", "-o", form)
    assert (code, out) == (0, "")
    assert "Connector orders is in d/orders." in err
    assert {file.name for file in (tmp_path / "d").iterdir()} == {
        f"{name}.{form}" for name in ("orders", "bills", "odd%2Fn%C3%A4me")
    }
    out = commands.run("plan", "-f", "d")[1]
    assert out.splitlines()[-1] == "No changes: 3 connectors are as in the files."


def test_one_file(commands: Commands, tmp_path: Path) -> None:
    assert commands.run("export", "bills") == (
        0,
        "name: bills\nstate: STOPPED\nconfig:\n  connector.class: FileStreamSource\n  topic: t\n",
        "",
    )
    for form in ("yaml", "json"):
        (tmp_path / f"all.{form}").write_text(commands.run("export", "-o", form)[1])
        assert "No changes: 3 connectors" in commands.run("plan", "-f", f"all.{form}")[1]
    assert commands.run("export", "-o", "properties")[0] == 2
    code, out, err = commands.run("export", "bills", "-o", "properties")
    assert (code, out) == (0, "name=bills\nconnector.class=FileStreamSource\ntopic=t\n")
    assert err == "Connector bills is STOPPED, which a file of properties cannot say\n"
    assert commands.run("export", "none")[::2] == (3, "Error: Connector none not found\n")


def test_masked_secrets_become_variables(
    commands: Commands, cluster: PlanCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked = {"x.password": "[hidden]", "x.note": "uses [hidden]", "transforms.m.replacement": "[hidden]"}
    cluster.configs["orders"] |= masked
    _, out, err = commands.run("export", "orders")
    assert "  x.password: $(ORDERS_X_PASSWORD)\n" in out
    assert "  x.note: uses $(ORDERS_X_NOTE)\n" in out
    assert "replacement: '[hidden]'\n" in out
    assert "Connector orders: x.password has a secret that is not shown; set the variable ORDERS_X_PASSWORD\n" in err
    (tmp_path / "a.yaml").write_text(out)
    assert "the environment variable ORDERS_X_PASSWORD is not set" in commands.run("plan", "-f", "a.yaml")[2]
    monkeypatch.setenv("ORDERS_X_PASSWORD", "geheim")
    monkeypatch.setenv("ORDERS_X_NOTE", "geheim")
    assert "No changes" in commands.run("plan", "-f", "a.yaml")[1]


def test_names_of_files() -> None:
    assert file_name("../etc/x") == "%2E.%2Fetc%2Fx"
    assert file_name("a b") == "a b"
    assert len({file_name("a" * 300 + end) for end in "bc"}) == 2
