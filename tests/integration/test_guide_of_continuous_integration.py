# SPDX-License-Identifier: Apache-2.0
"""The jobs of docs/guide/plan-and-apply.md for continuous integration, run step by step against a worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.support.worker_process import WorkerProcess

GUIDE: Final = Path(__file__).parents[2] / "docs" / "guide" / "plan-and-apply.md"
ADDRESS: Final = "https://connect.example.org:8083"


class Repository:
    """A checked out repository with `connectors/`, and a machine's home for each job."""

    def __init__(self, directory: Path, url: str) -> None:
        self.directory = directory
        self._url = url

    def run(self, job: str) -> str:
        """Run a job's steps, each in a shell of its own with the variables of its own; return what they print."""
        home = self.directory / f"home of {job}"
        home.mkdir(exist_ok=True)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        printed = ""
        for step in steps_of(job):
            secrets = {name: re.sub(r"\$\{\{ secrets\.\w+ \}\}", "secret", text) for name, text in step["env"].items()}
            ended = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].replace(ADDRESS, self._url)],
                cwd=self.directory / "repository",
                env={"PATH": path, "HOME": str(home), **secrets},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=300,
            )
            printed += ended.stdout + ended.stderr
            assert ended.returncode == 0, f"{step['run']}\n{printed}"
        return printed


def steps_of(job: str) -> list[dict[str, Any]]:
    """The job's commands in the guide, but for the installation of headrace, which is installed here."""
    (block,) = re.findall(r"```yaml\n(name: connectors\n.*?)```", GUIDE.read_text(), re.DOTALL)
    steps = [step for step in yaml.safe_load(block)["jobs"][job]["steps"] if "run" in step]
    assert steps[0]["run"] == "pip install headrace"
    return [{"env": {}, **step} for step in steps[1:]]


@pytest.fixture
def repository(worker: WorkerProcess, tmp_path: Path) -> Repository:
    (tmp_path / "repository" / "connectors").mkdir(parents=True)
    return Repository(tmp_path, str(worker.rest.base_url))


def test_a_pull_request_is_planned_and_main_is_applied(
    worker: WorkerProcess, repository: Repository, unique: str, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("one\n")
    config = {"connector.class": "FileStreamSource", "file": f"{tmp_path}/lines", "topic": unique}
    labelled = {**config, "headrace.labels": "shop"}
    file = repository.directory / "repository" / "connectors" / "shop.yaml"
    file.write_text(yaml.safe_dump({f"{unique}-a": labelled, f"{unique}-b": {"state": "PAUSED", "config": labelled}}))

    planned = repository.run("plan")
    assert "Plan: 2 to create, 0 to change, 0 to delete" in planned
    assert worker.rest.get(f"/connectors/{unique}-a").status_code == 404
    applied = repository.run("apply")
    assert "Applied: 2 created, 0 changed, 0 deleted. 2 of 2 connectors are as planned and healthy." in applied

    file.write_text(yaml.safe_dump({f"{unique}-a": {**labelled, "batch.size": "5"}}))
    assert "Plan: 0 to create, 1 to change, 1 to delete" in repository.run("plan")
    assert worker.rest.get(f"/connectors/{unique}-b").status_code == 200
    assert "Applied: 0 created, 1 changed, 1 deleted." in repository.run("apply")
    assert worker.rest.get(f"/connectors/{unique}-b").status_code == 404
    assert worker.rest.get(f"/connectors/{unique}-a").json()["config"]["batch.size"] == "5"
    worker.delete(f"{unique}-a")
