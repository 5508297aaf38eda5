# SPDX-License-Identifier: Apache-2.0
"""Plans of users who may not see secrets, nor validate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.rest.app import create_app
from tests.unit.cli.ctl.conftest import Commands
from tests.unit.cli.plan.conftest import PlanCluster
from tests.unit.rest.conftest import ServedApi, serve_api  # noqa: F401

SECRET = "hunter2-hunter2"
RULES = """\
rules:
  - {users: [ann], role: viewer}
  - {users: [bob], role: editor}
"""


@pytest.fixture
def url(
    serve_api: Callable[..., ServedApi],  # noqa: F811
    cluster: PlanCluster,
    tmp_path: Path,
) -> str:
    """A worker with the users ann, a viewer, and bob, an editor."""
    (tmp_path / "users").write_text("ann=secret\nbob=secret\n")
    (tmp_path / "rules.yaml").write_text(RULES)
    properties = {
        "rest.authentication": "basic",
        "rest.basic.auth.credentials.file": str(tmp_path / "users"),
        "rest.authorization.file": str(tmp_path / "rules.yaml"),
    }
    cluster.configs["orders"] = {
        "name": "orders",
        "connector.class": "Database",
        "topic": "t",
        "pin": SECRET,
        "note": f"it is {SECRET}",
    }
    return serve_api(properties, lambda _: create_app(cluster, request_timeout=5), cluster).url


def test_a_viewer_plans_what_an_editor_applies(
    url: str, commands: Commands, cluster: PlanCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, editor = (url.replace("://", f"://{user}:secret@") for user in ("ann", "bob"))
    code, out, err = commands.run("export", "orders", "--url", viewer)
    assert code == 0, err
    assert "  pin: $(ORDERS_PIN)\n" in out and "  note: it is $(ORDERS_NOTE)\n" in out
    (tmp_path / "orders.yaml").write_text(out)
    monkeypatch.setenv("ORDERS_PIN", SECRET)
    monkeypatch.setenv("ORDERS_NOTE", SECRET)
    arguments = ("-f", "orders.yaml", "--url")
    for user in (viewer, editor):
        code, out, err = commands.run("plan", *arguments, user, "--detailed-exitcode")
        assert (code, out.splitlines()[-1]) == (0, "No changes: the connector is as in the files."), out + err
        assert SECRET not in out + err
        assert ("it is not validated: " in out) is (user == viewer)

    (tmp_path / "orders.yaml").write_text((tmp_path / "orders.yaml").read_text().replace("topic: t", "topic: u"))
    code, out, _ = commands.run("plan", *arguments, viewer)
    assert (code, "topic  t → u" in out, "pin" in out) == (0, True, False)
    assert commands.run("apply", *arguments, viewer, "--yes")[0] == 5
    assert cluster.configs["orders"]["topic"] == "t"
    code, out, err = commands.run("apply", *arguments, editor, "--yes")
    assert code == 0, err
    assert SECRET not in out + err
    assert (cluster.configs["orders"]["topic"], cluster.configs["orders"]["pin"]) == ("u", SECRET)
