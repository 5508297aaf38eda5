# SPDX-License-Identifier: Apache-2.0
"""What a worker finds wrong with a connector's configuration when it is asked to validate it."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess


def mistakes(worker: WorkerProcess, config: Mapping[str, str], *, wait: bool = True) -> dict[str, list[str]]:
    """What is wrong with each property. By default it is waited for: while Spark starts, it tells nothing."""
    plugin = config["connector.class"]

    def asked() -> dict[str, list[str]]:
        answer = worker.rest.put(f"/connector-plugins/{plugin}/config/validate", json={"name": "checked", **config})
        assert answer.status_code == 200, answer.text
        values = [each["value"] for each in answer.json()["configs"]]
        return {value["name"]: value["errors"] for value in values if value["errors"]}

    return wait_for(asked, 60, f"a mistake to be found in {config}") if wait else asked()
