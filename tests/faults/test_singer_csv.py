# SPDX-License-Identifier: Apache-2.0
"""A file of CSV by Meltano's tap, which is killed, as are its task and its worker.

The tap has no version in PyPI: it is installed from its repository, or from a copy that HEADRACE_TAP_CSV names.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from headrace.broker.embedded_broker import EmbeddedBroker
from headrace.plugins.singer_environments import install
from tests.faults.tap_runs import RESTARTS, kill, runs
from tests.support.debian import or_skip
from tests.support.polling import wait_for
from tests.support.topics import read_committed
from tests.support.worker_process import WorkerProcess

PACKAGE: Final = os.environ.get("HEADRACE_TAP_CSV", "git+https://github.com/MeltanoLabs/tap-csv@v1.2.0")
ROWS: Final = 45_000
"""Less than are held for a STATE, which the tap sends behind them."""
KILLS: Final = ("tap", "task", "worker", "tap", "task")


def source(file: Path, topic: str) -> dict[str, str]:
    files = [{"entity": "people", "path": str(file), "keys": ["id"]}]
    return {
        "connector.class": "SingerSource",
        "tap": "tap-csv",
        "singer.config": json.dumps({"files": files}),
        "singer.interval.ms": "3600000",
        "singer.retries": "20",
        "stream.topics": f"people:{topic}",
        **{f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")},
        **{f"{part}.converter.schemas.enable": "false" for part in ("key", "value")},
    }


def test_each_row_once_in_each_whole_run(
    own_worker: WorkerProcess, broker: EmbeddedBroker, tmp_path: Path, unique: str
) -> None:
    home, chance, file = tmp_path / "data", random.Random(unique), tmp_path / "people.csv"
    or_skip(lambda: install(PACKAGE, "tap-csv", home / "singer"))
    own_worker.properties.update(RESTARTS)
    own_worker.environment["HEADRACE_DATA_DIR"] = str(home)
    own_worker.start()
    file.write_text("id,name\n" + "".join(f'{row},"Größe, {row}"\n' for row in range(ROWS)))

    def seen() -> Counter[int]:
        return Counter(
            int(json.loads(each.key or b"")["id"]) for each in read_committed(broker.bootstrap_servers, unique)
        )

    def state() -> Any:
        return f"{len(seen())} rows: {own_worker.status(unique)} {own_worker.log[-3000:]}"

    own_worker.create(unique, **source(file, unique))
    for what in KILLS:
        wait_for(lambda: runs(home), 90, state)
        time.sleep(chance.random() / 2)
        kill(own_worker, what, home)
        assert not seen(), "records are held until their STATE"
    wait_for(lambda: len(seen()) == ROWS, 180, state)
    wait_for(lambda: not runs(home), 60, state)
    assert seen() == Counter(range(ROWS))
    records = read_committed(broker.bootstrap_servers, unique)
    assert json.loads(records[-1].value or b"") == {"id": str(ROWS - 1), "name": f"Größe, {ROWS - 1}"}

    # The tap keeps no place in its files: the next run sends all rows again.
    with file.open("a") as more:
        more.write(f"{ROWS},the last\n")
    own_worker.rest.post(f"/connectors/{unique}/restart?includeTasks=true").raise_for_status()
    wait_for(lambda: ROWS in seen(), 180, state)
    wait_for(lambda: not runs(home), 60, state)
    assert seen() == Counter([*range(ROWS), *range(ROWS), ROWS])
    own_worker.delete(unique)
