# SPDX-License-Identifier: Apache-2.0
"""A broker that goes away and comes back in the middle of the flow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.broker.embedded_broker import EmbeddedBroker
from tests.support.exactly_once import assert_exactly_once, create_numbered
from tests.support.topics import wait_for_values
from tests.support.worker_process import WorkerProcess

COUNT = 6000


@pytest.mark.parametrize("end", [EmbeddedBroker.stop, EmbeddedBroker.kill], ids=["stopped", "killed"])
def test_broker_comes_back(
    end: Callable[[EmbeddedBroker], None], own_broker: EmbeddedBroker, worker_of_own_broker: WorkerProcess, unique: str
) -> None:
    bootstrap, worker = own_broker.bootstrap_servers, worker_of_own_broker
    create_numbered(worker, unique, COUNT, **{"pause.ms": "50"})
    wait_for_values(bootstrap, unique, 200, 90)
    end(own_broker)
    own_broker.start()
    assert_exactly_once(bootstrap, unique, COUNT, worker.properties["offset.storage.topic"], unique)
    worker.wait_for_tasks(unique)
