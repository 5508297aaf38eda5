# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.model.info import ConnectorOffset, OffsetsChange
from headrace.model.state import TargetState
from tests.unit.cli.ctl.conftest import Cluster, Commands

ONE, TWO = {"filename": "one"}, {"filename": "two"}


@pytest.fixture(autouse=True)
def stopped(cluster: Cluster) -> None:
    cluster.offsets["orders"] = (ConnectorOffset(ONE, {"position": 7}),)
    cluster.states["orders"] = TargetState.STOPPED


@pytest.fixture
def file(tmp_path: Path, commands: Commands) -> Path:
    """The export of "orders"."""
    path = tmp_path / "orders.offsets.json"
    assert commands.run("offsets", "export", "orders", "-f", str(path))[0] == 0
    return path


def committed(cluster: Cluster, name: str = "orders") -> dict[str, Any]:
    return {each.partition["filename"]: each.offset for each in cluster.offsets[name]}


def test_the_file(commands: Commands, file: Path) -> None:
    content = json.loads(file.read_text())
    assert content.pop("time").endswith("+00:00")
    assert content == {
        "format": 1,
        "connector": "orders",
        "class": "FileStreamSource",
        "type": "source",
        "kafka_cluster_id": "cluster",
        "offsets": [{"partition": ONE, "offset": {"position": 7}}],
    }
    code, out, err = commands.run("offsets", "export", "orders")
    assert (code, err, json.loads(out)["offsets"]) == (0, "", content["offsets"])


def test_one_that_runs(commands: Commands, cluster: Cluster, tmp_path: Path) -> None:
    cluster.states.clear()
    code, _, err = commands.run("offsets", "export", "orders", "-f", str(tmp_path / "o"))
    said = f"Connector orders: 1 offset exported to {tmp_path}/o\n"
    assert (code, err) == (0, f"{said}Connector orders is RUNNING: its offsets may continue to change\n")


def test_import(commands: Commands, cluster: Cluster, file: Path) -> None:
    cluster.offsets["orders"] = (ConnectorOffset(ONE, {"position": 1}), ConnectorOffset(TWO, {"position": 2}))
    kept = f"{file} lacks 1 offset of connector orders: kept; --exact deletes them\n"
    code, out, err = commands.run("offsets", "import", "-f", str(file), "--yes")
    assert (code, err) == (0, f"{kept}The offsets are others now\n")
    assert [line.split("  ")[1:] for line in out.splitlines()[1:]] == [
        ['{"position": 1}', '{"position": 7}', "unknown: position is 6 higher"],
        ['{"position": 2}', '{"position": 2}', "none: kept"],
    ]
    assert committed(cluster) == {"one": {"position": 7}, "two": {"position": 2}}
    assert cluster.asked == ("orders", OffsetsChange((ConnectorOffset(ONE, {"position": 7}),)))
    cluster.asked = None
    again = f"{kept}Connector orders has the offsets of {file} already\n"
    assert commands.run("offsets", "import", "-f", str(file), "--yes") == (0, "", again)
    assert cluster.asked is None
    assert commands.run("offsets", "import", "-f", str(file), "--yes", "--exact")[0] == 0
    assert committed(cluster) == {"one": {"position": 7}}


def test_import_asks(commands: Commands, cluster: Cluster, file: Path) -> None:
    cluster.offsets["orders"] = ()
    assert commands.run("offsets", "import", "-f", str(file), "--dry-run")[0] == 0
    assert commands.run("offsets", "import", "-f", str(file), input="n\n")[0] == 1
    assert committed(cluster) == {}
    assert commands.run("offsets", "import", "-f", str(file), input="y\n")[0] == 0
    assert committed(cluster) == {"one": {"position": 7}}


@pytest.mark.parametrize("before", [TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED])
def test_import_with_stop(commands: Commands, cluster: Cluster, file: Path, before: TargetState) -> None:
    cluster.offsets["orders"] = ()
    cluster.states["orders"] = before
    if before is not TargetState.STOPPED:
        code, _, err = commands.run("offsets", "import", "-f", str(file), "--yes")
        assert (code, "changed while it is STOPPED\nGive --stop, which" in err) == (1, True)
        assert committed(cluster) == {}
    code, _, err = commands.run("offsets", "import", "-f", str(file), "--yes", "--stop")
    assert (code, cluster.states["orders"], committed(cluster)) == (0, before, {"one": {"position": 7}}), err


def test_after_an_error_the_connector_stays_stopped(
    commands: Commands, cluster: Cluster, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.offsets["orders"] = ()
    cluster.states["orders"] = TargetState.STARTED
    monkeypatch.setattr(Cluster, "change_offsets", lambda *given: cluster._answer(RuntimeError("broken")))
    code, _, err = commands.run("offsets", "import", "-f", str(file), "--yes", "--stop")
    assert (code, cluster.states["orders"]) == (1, TargetState.STOPPED)
    assert "Connector orders stays STOPPED. Repeat the import, or: headrace connectors resume orders\n" in err


def test_another_class(commands: Commands, cluster: Cluster, file: Path) -> None:
    cluster.offsets["orders"] = ()
    cluster.configs["orders"]["connector.class"] = "a.B"
    code, _, err = commands.run("offsets", "import", "-f", str(file), "--yes")
    said = f"Error: {file} has offsets of FileStreamSource, but connector orders is of a.B\n"
    assert (code, err) == (1, f"{said}If it understands these offsets nevertheless: --force\n")
    assert commands.run("offsets", "import", "-f", str(file), "--yes", "--force")[0] == 0
    assert committed(cluster) == {"one": {"position": 7}}


def test_offsets_of_the_other_type(commands: Commands, file: Path) -> None:
    file.write_text(file.read_text().replace('"source"', '"sink"'))
    code, _, err = commands.run("offsets", "import", "-f", str(file), "--yes", "--force")
    assert (code, err) == (1, f"Error: {file} has offsets of a sink, but connector orders is a source\n")


def test_all_connectors(commands: Commands, cluster: Cluster, tmp_path: Path) -> None:
    name = "a/b ?#%"
    cluster.configs[name] = cluster.configs["orders"]
    cluster.states[name] = TargetState.STOPPED
    cluster.offsets[name] = (ConnectorOffset(TWO, {"position": 2}),)
    assert commands.run("offsets", "export", "--all", "-d", str(tmp_path / "d"))[0] == 0
    assert sorted(each.name for each in (tmp_path / "d").iterdir()) == [
        "a%2Fb%20%3F%23%25.offsets.json",
        "orders.offsets.json",
    ]
    cluster.offsets.clear()
    assert commands.run("offsets", "import", "-d", str(tmp_path / "d"), "--yes")[0] == 0
    assert (committed(cluster), committed(cluster, name)) == ({"one": {"position": 7}}, {"two": {"position": 2}})


def test_none_is_changed_unless_all_can_be(commands: Commands, cluster: Cluster, tmp_path: Path) -> None:
    cluster.configs["z"] = cluster.configs["orders"]
    cluster.offsets["z"] = cluster.offsets["orders"]
    assert commands.run("offsets", "export", "--all", "-d", str(tmp_path))[0] == 0
    cluster.offsets.clear()
    assert commands.run("offsets", "import", "-d", str(tmp_path), "--yes")[0] == 1, "z is not stopped"
    assert cluster.offsets == {}


def test_to_another_name(commands: Commands, cluster: Cluster, file: Path) -> None:
    cluster.configs["copy"] = cluster.configs["orders"]
    cluster.states["copy"] = TargetState.STOPPED
    assert commands.run("offsets", "import", "copy", "-f", str(file), "--yes")[0] == 0
    assert committed(cluster, "copy") == {"one": {"position": 7}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON: "),
        ("[" * 100_000, "is not JSON: "),
        ("[]", "is not of the shape "),
        ('{"offsets": [{"partition": {}, "offset": 1}]}', "is not of the shape "),
        ('{"offsets": [], "format": 2}', "its format is 2"),
        ('{"offsets": [], "connector": 1}', "connector is not a text"),
        ('{"offsets": []}', "names no connector"),
        ('{"offsets": [{"partition": {}, "offset": null}, {"partition": {}, "offset": {}}]}', "occurs twice"),
    ],
)
def test_files_that_are_none(commands: Commands, tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "file").write_text(content)
    code, out, err = commands.run("offsets", "import", "-f", str(tmp_path / "file"))
    assert (code, out, said in err.splitlines()[0]) == (2, "", True), err


@pytest.mark.parametrize(
    "options",
    [
        ("export",),
        ("export", "orders", "--all", "-d", "d"),
        ("export", "--all"),
        ("export", "--all", "-f", "f"),
        ("export", "orders", "-f", "f", "-d", "d"),
        ("import",),
        ("import", "orders"),
        ("import", "-f", "f", "-d", "d"),
        ("import", "orders", "-d", "d"),
    ],
)
def test_options_that_do_not_go_together(commands: Commands, options: tuple[str, ...]) -> None:
    assert commands.run("offsets", *options)[:2] == (2, "")
