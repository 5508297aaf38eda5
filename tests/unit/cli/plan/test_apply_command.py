# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from headrace.herder.errors import RebalanceNeededError
from headrace.model.state import TargetState
from tests.unit.cli.ctl.conftest import Commands
from tests.unit.cli.plan.conftest import SOURCE, PlanCluster

Write = Callable[[str, str], None]

CONNECTORS = """\
a: {connector.class: FileStreamSource, topic: a}
orders: {connector.class: FileStreamSource, topic: u}
bills: {state: RUNNING, config: {connector.class: FileStreamSource, topic: v}}
new: {initial_state: STOPPED, config: {connector.class: FileStreamSource, topic: n}}
"""


@pytest.fixture(autouse=True)
def files(write: Write) -> None:
    write("all.yaml", CONNECTORS)


def test_the_cluster_becomes_like_the_files(commands: Commands, cluster: PlanCluster) -> None:
    code, out, err = commands.run("apply", "-f", "all.yaml", input="y\n")
    assert code == 0, err
    assert (
        out.splitlines()[-1]
        == "Applied: 2 created, 2 changed, 0 deleted. 4 of 4 connectors are as planned and healthy."
    )
    assert "Make 4 changes? [y/N]:" in err
    assert cluster.configs["orders"] == {"name": "orders", "connector.class": SOURCE, "topic": "u"}
    assert cluster.states["bills"] is TargetState.STARTED
    assert cluster.states["new"] is TargetState.STOPPED
    assert cluster.changes == ["a", "orders", "bills", "bills:STARTED", "new"]

    cluster.changes.clear()
    code, out, err = commands.run("apply", "-f", "all.yaml")
    assert (code, err, cluster.changes) == (0, "", [])
    assert out.startswith("No changes: 4 connectors are as in the files.\n")


def test_a_no_changes_nothing(commands: Commands, cluster: PlanCluster) -> None:
    assert commands.run("apply", "-f", "all.yaml", input="n\n")[0] == 1
    assert cluster.changes == []


def test_prune(commands: Commands, cluster: PlanCluster, write: Write) -> None:
    cluster.configs["orders"]["headrace.labels"] = "shop"
    write("all.yaml", f"bills: {{connector.class: {SOURCE}, topic: t, headrace.labels: shop}}\n")
    assert commands.run("apply", "-f", "all.yaml", "--prune", "shop", "--yes")[0] == 0
    assert cluster.changes == ["bills", "-orders"]


def test_a_refused_change(commands: Commands, cluster: PlanCluster) -> None:
    before = ({name: dict(each) for name, each in cluster.configs.items()}, dict(cluster.states))
    cluster.refused = "new"
    code, _, err = commands.run("apply", "-f", "all.yaml", "--yes", "--rollback-on-failure")
    assert code == 1
    assert "Rolling back 4 changes" in err
    assert (cluster.configs, cluster.states) == before
    code, _, err = commands.run("apply", "-f", "all.yaml", "--yes")
    assert (code, "Rolling" in err, "a" in cluster.configs) == (1, False, True)


def test_a_connector_that_fails(commands: Commands, cluster: PlanCluster) -> None:
    before = ({name: dict(each) for name, each in cluster.configs.items()}, dict(cluster.states))
    cluster.broken = {"orders"}
    code, out, err = commands.run("apply", "-f", "all.yaml", "--yes", "--rollback-on-failure")
    assert code == 2
    assert out.splitlines()[-1].endswith(" 3 of 4 connectors are as planned and healthy.")
    assert "Connector orders: task 0 FAILED: ConnectError: the disk is gone\n" in err
    assert (cluster.configs, cluster.states) == before
    found = json.loads(commands.run("apply", "-f", "all.yaml", "--yes", "-o", "json")[1])
    assert found["not_healthy"] == {"orders": ["task 0 FAILED: ConnectError: the disk is gone"]}


def test_what_others_change_meanwhile_is_left_as_it_is(commands: Commands, cluster: PlanCluster) -> None:
    def meanwhile(name: str) -> None:
        if name == "orders":
            cluster.configs["a"]["topic"] = "others"
            cluster.configs["bills"]["topic"] = "others"

    cluster.before_change = meanwhile
    code, _, err = commands.run("apply", "-f", "all.yaml", "--yes", "--rollback-on-failure")
    assert code == 1
    assert "Connector a is not rolled back: another user has changed it meanwhile, so it is left as it is\n" in err
    assert "Error: Connector bills was changed since the plan was made\nMake the plan again\n" in err
    assert {name: config["topic"] for name, config in cluster.configs.items()} == {
        "a": "others",
        "bills": "others",
        "orders": "t",
    }


def planned(commands: Commands, *more: str) -> None:
    assert commands.run("plan", "-f", "all.yaml", "--plan-file", "plan.json", *more)[0] == 0


def applied(commands: Commands) -> tuple[int, str, str]:
    return commands.run("apply", "--plan-file", "plan.json", "--yes")


def test_a_plans_file(commands: Commands, cluster: PlanCluster, tmp_path: Path) -> None:
    planned(commands)
    assert (tmp_path / "plan.json").stat().st_mode & 0o777 == 0o600
    assert applied(commands)[0] == 0
    assert cluster.changes == ["a", "orders", "bills", "bills:STARTED", "new"]


def test_a_plan_of_which_a_part_is_done_already(commands: Commands, cluster: PlanCluster) -> None:
    cluster.configs["old"] = {"name": "old", "connector.class": SOURCE, "topic": "t", "headrace.labels": "shop"}
    planned(commands, "--prune", "shop")
    del cluster.configs["old"]
    cluster.configs["a"] = {"name": "a", "connector.class": SOURCE, "topic": "a"}
    cluster.configs["orders"]["topic"] = "u"
    code, _, err = applied(commands)
    assert code == 0, err
    assert cluster.changes == ["bills", "bills:STARTED", "new"]


@pytest.mark.parametrize("interrupted", ["new connector has no status", "state only", "configuration only"])
def test_a_plan_of_which_a_change_is_half_done(interrupted: str, commands: Commands, cluster: PlanCluster) -> None:
    planned(commands)
    if interrupted == "state only":
        cluster.states["bills"] = TargetState.STARTED
    elif interrupted == "configuration only":
        cluster.configs["bills"]["topic"] = "v"
    else:
        cluster.configs["new"] = {"name": "new", "connector.class": SOURCE, "topic": "n"}
    code, _, err = applied(commands)
    assert code == 0, err
    assert (cluster.configs["bills"]["topic"], cluster.states["bills"]) == ("v", TargetState.STARTED)
    assert set(cluster.configs) == {"a", "orders", "bills", "new"}


def change(cluster: PlanCluster) -> None:
    cluster.configs["orders"]["topic"] = "other"


def create(cluster: PlanCluster) -> None:
    cluster.configs["a"] = {"name": "a", "connector.class": SOURCE, "topic": "other"}


def delete(cluster: PlanCluster) -> None:
    del cluster.configs["bills"]


def pause(cluster: PlanCluster) -> None:
    cluster.states["orders"] = TargetState.PAUSED


def label(cluster: PlanCluster) -> None:
    cluster.configs["old"] = {"name": "old", "connector.class": SOURCE, "topic": "t", "headrace.labels": "shop"}


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (change, "connector orders was changed in the cluster since"),
        (create, "connector a was created since"),
        (delete, "connector bills was deleted since"),
        (pause, "connector orders was changed in the cluster since"),
        (label, "connector old is not in the plan"),
    ],
)
def test_a_plan_is_refused_after_the_cluster_has_changed(
    happens: Callable[[PlanCluster], None], said: str, commands: Commands, cluster: PlanCluster
) -> None:
    planned(commands, "--prune", "shop")
    happens(cluster)
    code, out, err = applied(commands)
    assert (code, out, cluster.changes) == (1, "", [])
    assert f"plan.json: {said}\n" in err
    assert err.endswith("Error: The plan plan.json holds no more\nMake it again with: headrace plan\n")


def test_a_plan_is_refused_after_files_or_variables_have_changed(
    commands: Commands, cluster: PlanCluster, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPIC", "one")
    write("all.yaml", CONNECTORS.replace("topic: u", "topic: $(TOPIC)"))
    planned(commands)
    monkeypatch.setenv("TOPIC", "two")
    assert "connector orders is another one in the files or their variables" in applied(commands)[2]
    write("all.yaml", "a: {connector.class: FileStreamSource, topic: a}\n")
    assert "connector orders is in the files no more" in applied(commands)[2]
    assert cluster.changes == []


@pytest.mark.parametrize(
    ("content", "said"),
    [("{", "is no plan"), ("[]", "is no plan"), ('{"format": 9}', "is a plan of another version"), (None, "read")],
)
def test_what_is_no_plan(content: str | None, said: str, commands: Commands, write: Write) -> None:
    if content is not None:
        write("plan.json", content)
    code, _, err = applied(commands)
    assert (code, said in err, len(err.splitlines())) == (1, True, 1)


def test_a_plan_for_another_cluster(commands: Commands, tmp_path: Path) -> None:
    planned(commands)
    file = tmp_path / "plan.json"
    file.write_text(file.read_text().replace('"cluster": "cluster"', '"cluster": "another"'))
    assert "is for another cluster" in applied(commands)[2]


def test_options_that_exclude_each_other(commands: Commands) -> None:
    assert commands.run("apply")[::2] == (2, "Error: Name the files by --file, or a plan by --plan-file\n")
    assert commands.run("apply", "-f", "a", "--plan-file", "b")[0] == 2


def test_a_rebalance_that_lasts(commands: Commands, cluster: PlanCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.cli.ctl.rest_api._REBALANCE_S", 0.0)
    refusals = iter([RebalanceNeededError("a rebalance is expected")] * 2)
    put = PlanCluster.put_connector_config

    def refused(self: PlanCluster, *args: Any, **options: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        if (error := next(refusals, None)) is None:
            return put(self, *args, **options)
        answer.set_exception(error)
        return answer

    monkeypatch.setattr(PlanCluster, "put_connector_config", refused)
    code, _, err = commands.run("apply", "-f", "all.yaml", "--yes")
    assert (code, next(refusals, None)) == (0, None), err
