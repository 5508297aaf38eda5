# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.api.errors import ConnectError
from headrace.herder.errors import BadRequestError
from headrace.model.info import ConnectorOffset, OffsetBounds, PartitionBounds
from headrace.model.state import TargetState
from tests.unit.cli.ctl.conftest import TRACE, Cluster, Commands

PARTITION, OFFSET = {"filename": "f"}, {"position": 7}


@pytest.fixture(autouse=True)
def committed(cluster: Cluster) -> None:
    cluster.offsets["orders"] = (ConnectorOffset(PARTITION, OFFSET),)
    cluster.configs["orders"]["file"] = "f"
    cluster.states["orders"] = TargetState.STOPPED


def test_get(commands: Commands) -> None:
    table = 'PARTITION          OFFSET\n{"filename": "f"}  {"position": 7}\n'
    assert commands.run("offsets", "get", "orders") == (0, table, "")


def test_what_get_prints_is_a_file_for_set(commands: Commands, cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(commands.run("offsets", "get", "orders", "-o", "json")[1])
    code, out, err = commands.run("offsets", "set", "orders", "-f", str(file), "--yes")
    assert (code, err) == (0, "The offsets are others now\n")
    table = """\
PARTITION          NOW              THEN             EFFECT
{"filename": "f"}  {"position": 7}  {"position": 7}  -
"""
    assert out == table


def test_set_asks_with_now_and_then(commands: Commands, cluster: Cluster) -> None:
    cluster.asked = None
    given = ("--partition", '{"filename": "f"}', "--offset", '{"position": 0}')
    code, out, err = commands.run("offsets", "set", "orders", *given, input="n\n")
    assert (code, cluster.asked) == (1, None)
    shown = ['{"filename": "f"}', '{"position": 7}', '{"position": 0}', "repeats up to 7 bytes"]
    assert out.splitlines()[1].split("  ") == shown
    assert err.startswith("This repeats up to 7 bytes. Change the offsets of connector orders? [y/N]:")
    assert commands.run("offsets", "set", "orders", *given, input="y\n")[0] == 0
    assert cluster.asked is not None


def test_reset(commands: Commands, cluster: Cluster) -> None:
    cluster.asked = None
    table = """\
PARTITION          NOW              THEN  EFFECT
{"filename": "f"}  {"position": 7}  -     repeats up to 7 bytes
"""
    assert commands.run("offsets", "reset", "orders", "--dry-run") == (0, table, "")
    assert cluster.asked is None
    assert commands.run("offsets", "reset", "orders", "--yes") == (0, table, "The offsets are others now\n")
    assert cluster.asked is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Name the offsets by --file, or one by --partition and --offset"),
        (("--partition", "{}"), "Name the offsets by --file, or one by --partition and --offset"),
        (("--partition", "{", "--offset", "{}"), "--partition is not JSON: "),
        (("--partition", "[]", "--offset", "{}"), "--partition is not a JSON object: []"),
        (("--partition", "{}", "--offset", "1"), "--offset is not a JSON object or null: 1"),
        (("-f", "none.json"), "none.json cannot be read: No such file or directory\n"),
        (("-f", "bad.json"), "bad.json is not of the shape "),
    ],
)
def test_mistakes(
    commands: Commands, options: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"offsets": [{"partition": {}}]}')
    code, out, err = commands.run("offsets", "set", "orders", *options)
    assert (code, out) == (2, "")
    first, *rest = err.splitlines()
    assert f"{first}\n".startswith(f"Error: {said}")
    form = "It has the form that is shown by: headrace offsets get CONNECTOR -o json"
    assert rest == ([form] if "JSON" in said else [])


def test_diff(commands: Commands, cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(commands.run("offsets", "get", "orders", "-o", "json")[1])
    assert commands.run("offsets", "diff", "orders", str(file)) == (0, "", "")
    assert commands.run("offsets", "diff", "orders", str(file), "-o", "json") == (0, "[]\n", "")
    cluster.offsets["orders"] = (ConnectorOffset(PARTITION, {"position": 9}),)
    code, out, err = commands.run("offsets", "diff", "orders", str(file))
    assert (code, err) == (1, "")
    shown = ['{"filename": "f"}', '{"position": 9}', '{"position": 7}', "repeats up to 2 bytes"]
    assert out.splitlines()[1].split("  ") == shown
    code, out, _ = commands.run("offsets", "diff", "orders", str(file), "-o", "json")
    assert (code, json.loads(out)[0]["count"]) == (1, -2)


def test_errors_of_diff_are_no_difference(commands: Commands, tmp_path: Path) -> None:
    assert commands.run("offsets", "diff", "orders", str(tmp_path / "none"))[0] == 2
    assert commands.run("offsets", "diff", "none", str(tmp_path / "none"))[0] == 3


def test_a_sinks_offsets_beyond_the_end(commands: Commands, cluster: Cluster) -> None:
    partition = {"kafka_topic": "t", "kafka_partition": 0}
    cluster.offsets["orders"] = (ConnectorOffset(partition, {"kafka_offset": 900}),)
    cluster.bounds["orders"] = OffsetBounds("earliest", (PartitionBounds(partition, 400, 1000),))
    given = ("--partition", json.dumps(partition), "--offset", '{"kafka_offset": 1001}', "--dry-run")
    code, out, err = commands.run("offsets", "set", "orders", *given)
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split("  ")[3] == (
        "repeats up to 500 records: 1,001 is beyond the end, 1,000; "
        "begins at the first record, 400 (auto.offset.reset=earliest)"
    )


def test_the_servers_refusal(commands: Commands, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    error: ConnectError = BadRequestError("the connector is not stopped")
    monkeypatch.setattr(Cluster, "change_offsets", lambda *given: (_ for _ in ()).throw(error))
    assert commands.run("offsets", "reset", "orders", "--yes")[::2] == (1, "Error: the connector is not stopped\n")


def test_cluster(commands: Commands, cluster: Cluster) -> None:
    cluster.configs["other"] = {}
    cluster.states.clear()
    cluster.trace = TRACE
    table = (
        "WORKER  CONNECTORS  TASKS  FAILED  ROLE    CONFIG LAG  VERSION  NO ANSWER\n"
        "g:8083  0           0      0               -           -        has not answered\n"
        "h:8083  2           2      2       leader  2           0.1.0\n"
    )
    said = "Kafka Connect 4.3.1 (headrace 0.1.0), Kafka cluster cluster\n"
    assert commands.run("cluster") == (0, table, said)
    code, out, err = commands.run("cluster", "-o", "json")
    assert (code, err) == (0, "")
    shown = json.loads(out)
    assert shown["workers"]["h:8083"] == {"connectors": 2, "tasks": 2, "failed": 2}
    assert shown["workers"]["g:8083"] == {"connectors": 0, "tasks": 0, "failed": 0}
    assert shown["reports"]["missing"] == {"g:8083": "has not answered"}


@pytest.mark.parametrize(
    "change",
    [("reset", "orders"), ("set", "orders", "--partition", '{"filename": "f"}', "--offset", '{"position": 1}')],
)
def test_a_refused_change_names_the_command_that_stops_the_connector(
    commands: Commands, cluster: Cluster, change: tuple[str, ...]
) -> None:
    cluster.states["orders"] = TargetState.STARTED
    code, _, err = commands.run("offsets", *change, "--yes")
    assert (code, err.splitlines()[1]) == (1, "It is RUNNING. Stop it: headrace connectors stop orders --wait")
