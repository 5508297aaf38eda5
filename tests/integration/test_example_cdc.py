# SPDX-License-Identifier: Apache-2.0
"""The commands of `examples/cdc/README.md`, with a role that may only log in and replicate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.faults.debezium import captured_postgres, install
from tests.support.polling import wait_for
from tests.support.postgres import USER, Postgres
from tests.support.worker_process import ROOT, WorkerProcess

EXAMPLE: Final = ROOT / "examples" / "cdc"
pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def commands(directory: Path, changed: dict[str, str]) -> list[str]:
    """Return the blocks of commands for a copy of the example, both with other addresses and another role."""
    target = directory / "examples" / "cdc"
    shutil.copytree(EXAMPLE, target)
    for file in target.iterdir():
        text = file.read_text()
        for former, new in changed.items():
            text = text.replace(former, new)
        file.write_text(text)
    return re.findall(r"```bash\n(.*?)```", (target / "README.md").read_text(), re.DOTALL)


def run(block: str, directory: Path, postgres: Postgres) -> str:
    """Run a block but for a broker and a worker, which run already."""
    lines = [line for line in block.splitlines() if " broker " not in line and "worker.properties" not in line]
    here = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": USER}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=directory, env=os.environ | here, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_of_the_page(broker: EmbeddedBroker, tmp_path: Path, unique: str) -> None:
    plugins = install(tmp_path / "plugins")
    own = {"group.id": unique, "plugin.path": str(plugins)}
    with captured_postgres() as postgres, WorkerProcess(tmp_path, broker.bootstrap_servers, **own) as worker:
        worker.await_answer(path="/connectors")
        changed = {
            "headrace LOGIN": "buyer LOGIN", "OWNER headrace": "OWNER buyer", "-U headrace": "-U buyer",
            '"headrace"': '"buyer"', "localhost:5432": f"localhost:{postgres.port}", "5432": str(postgres.port),
            "localhost:8083": f"localhost:{worker.port}", "/tmp/plugins": str(plugins),
            ".venv/bin/headrace": f"{sys.executable} -m headrace",
            "shop.public": f"{unique}.public", '"topic.prefix": "shop"': f'"topic.prefix": "{unique}"',
        }  # fmt: skip
        prepare, start, change = commands(tmp_path, changed)
        run(prepare, tmp_path, postgres)
        run(start, tmp_path, postgres)
        wait_for(lambda: copied(postgres), 120, lambda: worker.log[-3000:])
        run(change, tmp_path, postgres)
        query = change.splitlines()[-1]
        wait_for(lambda: re.search(r"^ +1 \|.*\b15\b", run(query, tmp_path, postgres), re.M), 60, "the change")
        for name in worker.connectors():
            worker.delete(name)


def copied(postgres: Postgres) -> bool:
    there = postgres.sql("SELECT 1 FROM pg_tables WHERE tablename = 'orders'", "warehouse")
    return bool(there) and len(postgres.sql("SELECT id FROM orders", "warehouse")) == 3
