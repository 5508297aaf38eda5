# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from headrace.api.errors import ConnectError
from headrace.herder.errors import BadRequestError, ForbiddenError
from headrace.inspection.dead_letters.letter_view import MOST_LETTERS
from headrace.model.ids import ConnectorTaskId
from headrace.model.info import PluginInfo
from headrace.model.state import TargetState
from tests.unit.cli.ctl.conftest import TRACE, Cluster, Commands
from tests.unit.rest.conftest import KEY


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "invoices.properties"
    path.write_text("name=invoices\nconnector.class=FileStreamSource\ntopic=u\n")
    return str(path)


def test_ls(commands: Commands, cluster: Cluster) -> None:
    cluster.configs["a-long-name-of-a-connector"] = {}
    cluster.states["a-long-name-of-a-connector"] = TargetState.STOPPED
    assert commands.run("connectors", "ls") == (
        0,
        "NAME                        TYPE    STATE    TASKS        WORKER  HEALTH\n"
        "a-long-name-of-a-connector  source  STOPPED  0/0 running  h:8083  healthy\n"
        "orders                      source  RUNNING  1/1 running  h:8083  healthy\n",
        "",
    )


def test_ls_for_programs(commands: Commands) -> None:
    code, out, err = commands.run("connectors", "ls", "-o", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["orders"]["status"]["connector"]["state"] == "RUNNING"
    assert yaml.safe_load(commands.run("connectors", "ls", "-o", "yaml")[1]) == json.loads(out)
    assert commands.run("connectors", "ls", "-o", "name") == (0, "orders\n", "")


def test_nothing_to_list(commands: Commands, cluster: Cluster) -> None:
    cluster.configs.clear()
    assert commands.run("connectors", "ls") == (0, "NAME  TYPE  STATE  TASKS  WORKER\n", "")
    assert commands.run("connectors", "ls", "-o", "json") == (0, "{}\n", "")


def test_get(commands: Commands) -> None:
    expected = (
        "PROPERTY         VALUE\nconnector.class  FileStreamSource\nname             orders\ntopic            t\n"
    )
    assert commands.run("connectors", "get", "orders") == (0, expected, "")


def test_what_get_prints_is_a_file_for_create(commands: Commands, cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text(commands.run("connectors", "get", "orders", "-o", "json")[1])
    config = cluster.configs.pop("orders")
    assert commands.run("connectors", "create", "-f", str(tmp_path / "orders.json"))[0] == 0
    assert cluster.configs == {"orders": config}


def test_describe(commands: Commands, cluster: Cluster) -> None:
    cluster.trace = TRACE
    code, out, err = commands.run("connectors", "describe", "orders")
    assert (code, err) == (0, "")
    assert out == (
        "Name     orders\n"
        "Class    FileStreamSource\n"
        "Type     source\n"
        "Verdict  failed\n"
        "Why      Task 0 has FAILED.\n"
        "Topics   a, b\n"
        "\n"
        "PART       STATE    HEALTH   WORKER\n"
        "connector  RUNNING  healthy  h:8083\n"
        "task 0     FAILED   -        h:8083\n"
        "\n"
        "Task 0\n"
        "  Reason  ConnectError: the disk is gone\n"
    )
    described = json.loads(commands.run("connectors", "describe", "orders", "-o", "json")[1])
    assert (described["health"]["verdict"], described["status"]["tasks"][0]["trace"]) == ("failed", TRACE)


def test_describe_hides_secrets(commands: Commands, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"db.password": "geheim1", "url": "http://u:geheim2@h/", "size": "geheim3"}
    cluster.configs["orders"] = {"connector.class": "a.B", **secrets}
    key = (replace(KEY, type="PASSWORD"),)
    with monkeypatch.context() as patched:
        patched.setattr(Cluster, "connector_plugin_config", lambda herder, plugin: herder._answer(key))
        for options in ((), ("--config",), ("-o", "json"), ("-o", "yaml")):
            out = commands.run("connectors", "describe", "orders", *options)[1]
            assert ("[hidden]" in out, "geheim" in out) == (bool(options), False)
    cluster.configs["orders"] = {"connector.class": "unknown", "size": "geheim3"}
    assert "geheim" not in commands.run("connectors", "describe", "orders", "--config")[1]


def test_escape_sequences_do_not_reach_the_terminal(commands: Commands, cluster: Cluster) -> None:
    cluster.trace = "Traceback (most recent call last):\nError: \x1b[2Jgone [red]now[/red]\n"
    out = commands.run("connectors", "describe", "orders")[1]
    assert "\x1b" not in out
    assert "[2Jgone [red]now[/red]" in out


def test_create(commands: Commands, cluster: Cluster, file: str) -> None:
    said = "Connector invoices is created\nConnector invoices is RUNNING\n"
    assert commands.run("connectors", "create", "-f", file, "--wait") == (0, "", said)
    assert cluster.configs["invoices"] == {"name": "invoices", "connector.class": "FileStreamSource", "topic": "u"}


def test_the_check_of_a_refused_configuration_is_named(
    commands: Commands, cluster: Cluster, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = BadRequestError("Connector configuration is invalid and contains the following 2 error(s): a; b")

    def refuse(herder: Cluster, *args: Any, **more: Any) -> Any:
        raise refusal

    monkeypatch.setattr(Cluster, "put_connector_config", refuse)
    cluster.configs["invoices"] = cluster.configs["orders"]
    for verb in ("create", "update"):
        code, _, err = commands.run("connectors", verb, "-f", file)
        assert (code, err) == (1, f"Error: {refusal}\nOne a line: headrace config validate -f {file}\n")


def test_create_stopped(commands: Commands, cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "c", "config": {"tasks.max": 1}, "initial_state": "STOPPED"}))
    assert commands.run("connectors", "create", "-f", str(file), "--wait")[2].endswith("Connector c is STOPPED\n")
    assert (cluster.states["c"], cluster.configs["c"]) == (TargetState.STOPPED, {"name": "c", "tasks.max": "1"})


def test_one_that_fails_is_not_waited_for_longer(commands: Commands, cluster: Cluster, file: str) -> None:
    cluster.trace = TRACE
    code, out, err = commands.run("connectors", "create", "-f", file, "--wait")
    assert (code, out) == (2, "")
    assert err == (
        "Connector invoices is created\n"
        "Error: Connector invoices: task 0 FAILED: ConnectError: the disk is gone\n"
        "More: headrace connectors describe invoices\n"
    )


def test_the_end_of_waiting(commands: Commands, cluster: Cluster) -> None:
    cluster.trace = TRACE
    code, _, err = commands.run("connectors", "pause", "orders", "--wait", "--timeout", "0.1")
    said = "Error: Connector orders is not PAUSED after 0.1 s: connector PAUSED, task 0 FAILED\n"
    assert (code, err) == (2, f"Connector orders is being paused\n{said}")


def test_update(commands: Commands, cluster: Cluster, tmp_path: Path, file: str) -> None:
    code, _, err = commands.run("connectors", "update", "-f", file)
    assert (code, err) == (3, "Error: Connector invoices not found\n")
    (tmp_path / "orders.json").write_text('{"name": "orders", "topic": "v"}')
    assert commands.run("connectors", "update", "-f", str(tmp_path / "orders.json"))[0] == 0
    assert cluster.configs == {"orders": {"name": "orders", "topic": "v"}}


def test_patch(commands: Commands, cluster: Cluster) -> None:
    assert commands.run("connectors", "patch", "orders", "file=a=b", "topic-") == (
        0,
        "",
        "Connector orders is updated\n",
    )
    assert cluster.configs["orders"] == {"name": "orders", "connector.class": "FileStreamSource", "file": "a=b"}
    code, _, err = commands.run("connectors", "patch", "orders", "topic")
    assert (code, err) == (2, "Error: Invalid change 'topic': KEY=VALUE sets a property, KEY- removes it\n")


def test_delete_asks(commands: Commands, cluster: Cluster) -> None:
    code, _, err = commands.run("connectors", "delete", "orders", input="n\n")
    assert (code, "orders" in cluster.configs) == (1, True)
    assert err.startswith("Delete connector orders? [y/N]:")
    code, _, err = commands.run("connectors", "delete", "orders", input="")
    assert (code, err.splitlines()[1:]) == (
        1,
        ["Error: There is no answer on stdin", "To do it without a question: --yes"],
    )
    assert commands.run("connectors", "delete", "orders", input="y\n")[0] == 0
    assert cluster.configs == {}


def test_delete_without_a_question(commands: Commands, cluster: Cluster) -> None:
    code, _, err = commands.run("connectors", "delete", "orders", "--yes", "--wait")
    assert (code, err, cluster.configs) == (0, "Connector orders is deleted\n", {})


@pytest.mark.parametrize(
    ("verb", "state"), [("pause", TargetState.PAUSED), ("stop", TargetState.STOPPED), ("resume", TargetState.STARTED)]
)
def test_target_states(commands: Commands, cluster: Cluster, verb: str, state: TargetState) -> None:
    cluster.states["orders"] = TargetState.PAUSED
    assert commands.run("connectors", verb, "orders", "--wait")[0] == 0
    assert cluster.states["orders"] is state


@pytest.mark.parametrize(
    ("options", "asked"), [((), (False, False)), (("--tasks",), (False, True)), (("--failed",), (True, True))]
)
def test_restart(commands: Commands, cluster: Cluster, options: tuple[str, ...], asked: tuple[bool, bool]) -> None:
    assert commands.run("connectors", "restart", "orders", *options)[0] == 0
    assert cluster.asked == asked


def test_watch(commands: Commands, cluster: Cluster) -> None:
    cluster.configs["other"] = {}
    code, out, err = commands.run("connectors", "watch", "orders", "--timeout", "0", "-o", "json")
    assert (code, err) == (0, "")
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["name"], each["part"], each["state"]) for each in found] == [
        ("orders", "connector", "RUNNING"),
        ("orders", "task 0", "RUNNING"),
    ]
    out = commands.run("connectors", "watch", "--timeout", "0")[1]
    assert [line.split()[1:] for line in out.splitlines()][-2:] == [
        ["other", "connector", "RUNNING", "healthy"],
        ["other", "task", "0", "RUNNING"],
    ]


@pytest.mark.parametrize(
    ("error", "code"),
    [(BadRequestError("bad\n  value"), 1), (ForbiddenError("not you"), 5), (ConnectError("broken"), 1)],
)
def test_the_servers_message(commands: Commands, cluster: Cluster, error: ConnectError, code: int) -> None:
    cluster.error = error
    assert commands.run("connectors", "pause", "orders") == (code, "", f"Error: {' '.join(str(error).split())}\n")


def test_names_are_encoded(commands: Commands, cluster: Cluster) -> None:
    cluster.configs["a/b ?#%"] = {"x": "y"}
    assert commands.run("connectors", "get", "a/b ?#%")[1].splitlines()[1] == "x         y"


def test_tasks(commands: Commands, cluster: Cluster) -> None:
    cluster.trace = TRACE
    assert commands.run("tasks", "ls", "orders") == (
        0,
        "TASK  STATE   WORKER  REASON\n0     FAILED  h:8083  ConnectError: the disk is gone\n",
        "",
    )
    code, out, _ = commands.run("tasks", "get", "orders", "0")
    assert code == 0
    assert [line.rstrip() for line in TRACE.splitlines()][2] in out and "topic            t" in out
    assert json.loads(commands.run("tasks", "get", "orders", "0", "-o", "json")[1])["config"]["topic"] == "t"
    assert commands.run("tasks", "get", "orders", "7")[0] == 3
    assert commands.run("tasks", "restart", "orders", "0") == (0, "", "Task orders-0 is being restarted\n")
    assert cluster.asked == ConnectorTaskId("orders", 0)


def test_plugins(commands: Commands, cluster: Cluster) -> None:
    table = "CLASS  TYPE    VERSION\na.B    source  1.0\nc.D    sink    -\n"
    assert commands.run("plugins", "ls") == (0, table, "")
    assert cluster.asked is True
    assert commands.run("plugins", "ls", "--all", "-o", "name") == (0, "a.B\nc.D\n", "")
    assert cluster.asked is False
    out = commands.run("plugins", "describe", "a.B")[1]
    assert out == "PROPERTY  TYPE  DEFAULT  IMPORTANCE  DOCUMENTATION\nsize      INT   1        LOW         How big.\n"
    assert commands.run("plugins", "describe", "none")[0] == 3


def test_validate(commands: Commands, cluster: Cluster, file: str) -> None:
    said = "Error: The configuration of invoices is not valid, mistakes: 1\n"
    assert commands.run("config", "validate", "-f", file) == (1, "PROPERTY  MISTAKE\nsize      too big\n", said)
    assert cluster.validated is not None and cluster.validated[0] == "FileStreamSource"


def test_loggers(commands: Commands, cluster: Cluster) -> None:
    assert "LOGGER" in commands.run("loggers", "get")[1]
    assert commands.run("loggers", "set", "headrace.x", "debug", "--cluster")[0] == 0
    assert cluster.levels == [("headrace.x", "DEBUG")]
    assert commands.run("loggers", "set", "headrace.test.ctl", "warn")[0] == 0
    assert commands.run("loggers", "get", "headrace.test.ctl") == (
        0,
        "LOGGER             LEVEL\nheadrace.test.ctl  WARN\n",
        "",
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ("loggers", "set", "headrace.x", "loud"),
            "'loud' is no level: OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE or ALL",
        ),
        (
            ("logs", "orders", "--level", "loud"),
            "'loud' is no level: OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE or ALL",
        ),
        (("dlq", "show", "orders", "--filter", "colour=red"), "Invalid filter 'colour=red': expected NAME=VALUE"),
        (("dlq", "discard", "orders", "--filter", "since=soon"), "Invalid filter 'since=soon': expected a time"),
        # The command's own limit is that of the worker, whose module would slow its start.
        (("dlq", "show", "orders", "--limit", f"{MOST_LETTERS + 1}"), f"less than or equal to {MOST_LETTERS}"),
    ],
)
def test_values_that_a_worker_would_refuse(commands: Commands, command: tuple[str, ...], said: str) -> None:
    code, out, err = commands.run(*command)
    assert (code, out) == (2, "")
    assert said in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    "command",
    [
        ("connectors", "get"),
        ("connectors", "pause"),
        ("tasks", "ls"),
        ("connectors", "describe"),
        ("connectors", "watch", "--timeout", "1"),
        ("export",),
        ("top",),
        ("offsets", "reset"),
        ("logs",),
        ("topics", "ls"),
        ("topics", "head", "t", "--connector"),
        ("dlq", "show"),
        ("preview", "--connector"),
    ],
)
def test_a_near_name_is_proposed(commands: Commands, command: tuple[str, ...]) -> None:
    code, out, err = commands.run(*command, "order")
    assert (code, out) == (3, "")
    assert err.splitlines()[1:] == ["Did you mean 'orders'?"]
    assert "Did you mean" not in commands.run(*command, "invoices")[2]


@pytest.mark.parametrize(
    ("command", "near"),
    [
        (("plugins", "describe", "a.b"), "a.B"),
        (("loggers", "get", "headrace.cli.ctl.test_name"), "headrace.cli.ctl.test_names"),
    ],
)
def test_a_near_name_of_a_plugin_or_logger(commands: Commands, command: tuple[str, ...], near: str) -> None:
    logging.getLogger("headrace.cli.ctl.test_names")
    code, out, err = commands.run(*command)
    assert (code, out, err.splitlines()[1:]) == (3, "", [f"Did you mean '{near}'?"])


def test_a_plugins_short_name_is_proposed(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    plugins = (PluginInfo("org.example.io.FileStreamSourceConnector", "source", "1.0"),)
    monkeypatch.setattr(Cluster, "connector_plugins", lambda herder, connectors_only: plugins)
    err = commands.run("plugins", "describe", "FileStreamSorce")[2]
    assert err.splitlines()[1:] == ["Did you mean 'FileStreamSourceConnector'?"]


@pytest.mark.parametrize("name", ["..", ".", "a/b", "50%", "a%2Fb", "Größe"])
def test_names_that_are_hard_to_write_in_a_path(commands: Commands, cluster: Cluster, name: str) -> None:
    cluster.configs[name] = {"name": name, "topic": "t"}
    code, out, err = commands.run("connectors", "get", name, "-o", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["config"] == {"name": name, "topic": "t"}
    assert commands.run("connectors", "stop", name)[0] == 0
    assert cluster.states[name] is TargetState.STOPPED


@pytest.mark.parametrize("verb", ["pause", "resume", "stop", "restart", "delete"])
def test_nothing_is_changed_if_one_of_the_names_is_wrong(commands: Commands, cluster: Cluster, verb: str) -> None:
    states = dict(cluster.states)
    code, out, err = commands.run("connectors", verb, "orders", "order", *(("--yes",) if verb == "delete" else ()))
    assert (code, out, err.count("\n")) == (3, "", 2) and "Did you mean 'orders'?" in err
    assert (cluster.states, list(cluster.configs), cluster.asked) == (states, ["orders"], None)
