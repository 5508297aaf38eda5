# SPDX-License-Identifier: Apache-2.0
"""A growing table of PostgreSQL by taps of PyPI, which are killed, as are their task and their worker."""

from __future__ import annotations

import json
import random
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.plugins.singer_environments import install
from scripts.connectors_table import pinned_package
from tests.faults.tap_runs import RESTARTS, kill, runs
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.postgres import USER, Postgres
from tests.support.topics import values
from tests.support.worker_process import WorkerProcess

ROWS: Final = 20_000
MORE: Final = 500
KILLS: Final = ("tap", "task", "worker", "tap", "task", "tap")
PACKAGES: Final = {
    "tap-postgres": "meltanolabs-tap-postgres",
    "pipelinewise-tap-postgres": "pipelinewise-tap-postgres",
}


def source(postgres: Postgres, tap: str, table: str, topic: str) -> dict[str, str]:
    own = {"database": "postgres"} if tap == "tap-postgres" else {"dbname": "postgres", "filter_schemas": "public"}
    database = {"host": "127.0.0.1", "port": postgres.port, "user": USER, "password": "any"}
    return {
        "connector.class": "SingerSource",
        "tap": tap,
        "singer.config": json.dumps({**database, **own}),
        "singer.interval.ms": "300",
        "singer.retries": "20",
        "streams.include": f"*{table}",
        "streams.metadata": json.dumps({"*": {"replication-method": "INCREMENTAL", "replication-key": "changed_at"}}),
        "stream.topics": f"public-{table}:{topic}",
        "transforms": "id",
        "transforms.id.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.id.field": "id",
        "value.converter": "org.apache.kafka.connect.converters.IntegerConverter",
    }


class Table:
    """A table whose rows have consecutive ids, and times in their order."""

    def __init__(self, postgres: Postgres, name: str) -> None:
        self._postgres, self._name, self.count = postgres, name, 0
        postgres.sql(f"CREATE TABLE {name} (id integer PRIMARY KEY, changed_at timestamptz NOT NULL)")

    def grow(self, rows: int) -> None:
        time_of = "timestamptz '2024-01-01' + n * interval '1 second'"
        ids = f"generate_series({self.count + 1}, {self.count + rows}) n"
        self._postgres.sql(f"INSERT INTO {self._name} SELECT n, {time_of} FROM {ids}")
        self.count += rows


@pytest.mark.parametrize("tap", PACKAGES)
def test_each_row_once_whatever_is_killed(
    own_worker: WorkerProcess, broker: EmbeddedBroker, postgres: Postgres, tmp_path: Path, unique: str, tap: str
) -> None:
    home, chance = tmp_path / "data", random.Random(unique)
    or_skip(lambda: install(pinned_package(PACKAGES[tap]), tap, home / "singer"))
    own_worker.properties.update(RESTARTS)
    own_worker.environment["HEADRACE_DATA_DIR"] = str(home)
    own_worker.start()
    table = Table(postgres, unique.replace("-", "_"))
    table.grow(ROWS)

    def ids() -> list[int]:
        return [int.from_bytes(each or b"") for each in values(broker.bootstrap_servers, unique)]

    def state() -> Any:
        return f"{ids()[-1:]} of {table.count}: {own_worker.status(unique)} {own_worker.log[-3000:]}"

    own_worker.create(unique, **source(postgres, tap, unique.replace("-", "_"), unique))
    wait_for(lambda: runs(home), 60, state)
    for what in KILLS:
        time.sleep(chance.random())
        kill(own_worker, what, home)
        table.grow(MORE)
        seen = len(ids())
        wait_for(lambda seen=seen: len(ids()) > seen, 120, state)  # type: ignore[misc]
    wait_for(lambda: ids()[-1:] == [table.count], 120, state)
    own_worker.delete(unique)
    found = ids()
    # A run begins with the row whose time is the bookmark: this one is sent again, at once and in its place.
    assert found[0] == 1
    assert {after - before for before, after in pairwise(found)} <= {0, 1}
    assert found[-1] == table.count
    wait_for(lambda: not runs(home), 20, "the end of the tap")
