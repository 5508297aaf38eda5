# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.model.info import ConnectorOffset
from tests.unit.cli.ctl.conftest import Commands
from tests.unit.cli.plan.conftest import PlanCluster

Write = Callable[[str, str], None]

CONNECTORS = """\
orders:
  connector.class: FileStreamSource
  tasks.max: 1
  topic: u
bills:
  state: RUNNING
  config:
    connector.class: FileStreamSource
    topic: t
---
name: new
initial_state: PAUSED
config: {connector.class: FileStreamSource, topic: new, headrace.labels: shop}
"""

TEXT = """\
~ orders is changed  (all.yaml:1)
    tasks.max  1
    topic      t → u
    The connector and its task are restarted.

~ bills is changed  (all.yaml:5)
    (state)  STOPPED → RUNNING
    The connector and its tasks are started.

+ new is created  (all.yaml:11)
    connector.class  FileStreamSource
    topic            new
    headrace.labels  shop
    (state)          PAUSED

Plan: 1 to create, 2 to change, 0 to delete, 0 without changes.
"""


def test_what_would_change(commands: Commands, cluster: PlanCluster, write: Write) -> None:
    write("all.yaml", CONNECTORS)
    assert commands.run("plan", "-f", "all.yaml") == (0, TEXT, "")
    assert commands.run("plan", "-f", "all.yaml", "--detailed-exitcode")[0] == 2
    assert commands.run("plan", "-f", "all.yaml", "-o", "name")[1].split() == ["orders", "bills", "new"]
    found = json.loads(commands.run("plan", "-f", "all.yaml", "-o", "json")[1])
    assert found["summary"] == {"create": 1, "update": 2, "delete": 0, "none": 0}
    assert found["changes"][0] == {
        "name": "orders",
        "action": "update",
        "properties": [{"name": "tasks.max", "old": None, "new": "1"}, {"name": "topic", "old": "t", "new": "u"}],
        "state": {"old": "RUNNING", "new": "RUNNING"},
        "effects": ["The connector and its task are restarted."],
    }
    assert cluster.changes == []


def test_no_changes(commands: Commands, write: Write) -> None:
    write("a.properties", "name=orders\nconnector.class=FileStreamSource\ntopic=t\n")
    said = "No changes: the connector is as in the files.\n"
    assert commands.run("plan", "-f", "a.properties", "--detailed-exitcode") == (0, said, "")


def test_all_mistakes_of_all_files_at_once(commands: Commands, write: Write, tmp_path: Path) -> None:
    write("d/a.yaml", "a:\n  connector.class: FileStreamSource\n  topic: t\n  batch.size: many\n  tasks.max: 0\n")
    write("d/b.json", '[{"name": "b", "config": {"connector.class": "Nix"}},\n {"config": {}}]')
    write("d/c.properties", "name=a\nconnector.class=FileStreamSource\ntopic=$(NO_TOPIC)\n")
    write("d/e.yaml", "a: [\n")
    write("d/notes.txt", "no connector")
    code, out, err = commands.run("plan", "-f", "d")
    assert (code, out) == (1, "")
    for line in (
        "d/a.yaml:4: connector a, batch.size: Invalid value 'many' for configuration batch.size: ",
        "d/a.yaml:5: connector a, tasks.max: Invalid value '0' for configuration tasks.max: ",
        "d/b.json:1: connector b, connector.class: Invalid value 'Nix' for configuration connector.class: ",
        "d/b.json:2: it lacks name beside config",
        "d/c.properties:1: connector a: connector a is in d/a.yaml:1 already",
        "d/c.properties:3: connector a, topic: the environment variable NO_TOPIC is not set",
        "d/e.yaml:2: it is not YAML: ",
        "Error: There is no plan: 7 mistakes",
    ):
        assert line in err, err
    assert len(err.splitlines()) == 8
    found = json.loads(commands.run("plan", "-f", "d", "-o", "json")[1])
    assert found["errors"][0]["property"] == "batch.size"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no connector in it"),
        ("- 1\n", "a.yaml:1: a connector has to be a map"),
        ("name: a\nconnector.class: {}\n", "a.yaml:2: the value of property 'connector.class' has to be a text"),
        ("name: a\nconfig: {}\nstate: GONE\n", "a.yaml:3: Invalid value 'GONE' for state: one of RUNNING, PAUSED"),
        ("name: a\nconfig: {}\nstat: x\n", "a.yaml:3: there is no 'stat' beside config"),
        ("a:\n  name: b\n", "a.yaml:2: its property name is 'b', but its name is 'a'"),
        ("a: {x: 1}\na: {x: 2}\n", "a.yaml:2: a is in line 1 already"),
        ("a:\n  topic: t\n", "a.yaml:1: connector a: it lacks the property connector.class"),
    ],
)
def test_files_that_cannot_be_understood(text: str, said: str, commands: Commands, write: Write) -> None:
    write("a.yaml", text)
    code, out, err = commands.run("plan", "-f", "a.yaml")
    assert (code, out) == (1, "")
    assert said in err, err


SECRET = "hunter2-hunter2"


def test_secrets_are_in_no_output(
    commands: Commands, cluster: PlanCluster, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ORDERS_PASSWORD", SECRET)
    old = {"connector.class": "Database", "pin": f"old-{SECRET}", "database.password": f"older-{SECRET}"}
    cluster.configs["orders"] = {"name": "orders", **old}
    write(
        "a.yaml",
        f"""\
orders: {{connector.class: Database, pin: a-{SECRET}, database.password: $(ORDERS_PASSWORD), topic: $(ORDERS_PASSWORD)}}
new: {{connector.class: Database, pin: "${{env:PIN}}", url: 'jdbc:x://u:{SECRET}@h/d'}}
""",
    )
    outputs = [
        commands.run("plan", "-f", "a.yaml", "--plan-file", "plan.json", "-o", form) for form in ("table", "json")
    ]
    outputs.append(commands.run("apply", "-f", "a.yaml", "--yes"))
    for code, out, err in outputs:
        assert code == 0, err
        assert SECRET not in out + err
    assert SECRET not in (tmp_path / "plan.json").read_text()
    assert "pin                [hidden] → [hidden]" in outputs[0][1]
    assert "${env:PIN}" in outputs[0][1]
    assert cluster.configs["orders"]["database.password"] == SECRET
    assert cluster.configs["new"]["pin"] == "${env:PIN}"


def test_a_secret_in_a_workers_message(commands: Commands, write: Write) -> None:
    write("a.yaml", f"a: {{connector.class: Database, errors.tolerance: {SECRET}, x.password: {SECRET}}}\n")
    code, _, err = commands.run("plan", "-f", "a.yaml")
    assert code == 1
    assert "errors.tolerance: Invalid value" in err and SECRET not in err


def test_offsets_that_a_change_concerns(commands: Commands, cluster: PlanCluster, write: Write) -> None:
    cluster.configs["orders"]["file"] = "/data/a.txt"
    cluster.offsets["orders"] = (ConnectorOffset({"filename": "/data/a.txt"}, {"position": 7}),)
    cluster.configs["sink"] = {"name": "sink", "connector.class": "FileStreamSink", "topics": "a,b", "file": "f"}
    write(
        "a.yaml",
        "orders: {connector.class: FileStreamSource, topic: t, file: /data/b.txt}\n"
        "sink: {connector.class: FileStreamSink, topics: 'b,c', file: f, consumer.override.group.id: g2}\n",
    )
    out = commands.run("plan", "-f", "a.yaml")[1]
    assert "Offsets: a source partition is named by the former file; what it names now is read from its beg" in out
    assert "Offsets: c is read by auto.offset.reset" in out
    assert "Offsets: a is read no more" in out
    assert "Offsets: another consumer group has none" in out


def test_prune_deletes_what_has_the_label(commands: Commands, cluster: PlanCluster, write: Write) -> None:
    cluster.configs["orders"]["headrace.labels"] = "shop, web"
    cluster.configs["bills"]["headrace.labels"] = "shopping"
    write("a.yaml", "new: {connector.class: FileStreamSource, topic: t}\n")
    assert "orders" not in commands.run("plan", "-f", "a.yaml")[1]
    out = commands.run("plan", "-f", "a.yaml", "--prune", "shop")[1]
    assert "- orders is deleted\n    Its task is stopped.\n    Its offsets stay" in out
    assert "bills" not in out
    assert "Warning: Connector new has not the label, so --prune will not delete it" in out
    assert "Warning: Connector new is orders under another name: it has no offsets, and begins anew." in out


def test_values_that_this_user_may_not_see_count_as_equal(
    commands: Commands, cluster: PlanCluster, write: Write
) -> None:
    cluster.configs["orders"] |= {"x.password": "[hidden]", "x.note": "uses [hidden]"}
    file = "orders: {{connector.class: FileStreamSource, topic: t, x.password: abcdef, x.note: {} abcdef}}\n"
    write("a.yaml", file.format("uses"))
    assert "No changes: the connector is" in commands.run("plan", "-f", "a.yaml")[1]
    write("a.yaml", file.format("other"))
    assert "x.note  uses [hidden] → other [hidden]" in commands.run("plan", "-f", "a.yaml")[1]
