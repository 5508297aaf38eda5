# SPDX-License-Identifier: Apache-2.0
"""Zombie fencing: a round ends all writes of producers of a connector's former tasks (KIP-618)."""

from __future__ import annotations

import logging

from headrace.config.client_configs import fencing_admin
from headrace.config.worker_config import WorkerConfig
from headrace.kafka.admin.admin_client import AdminClient
from headrace.model.cluster_config_state import Config

log = logging.getLogger(__name__)


def fence_zombies(worker: WorkerConfig, connector_config: Config, tasks: int) -> None:
    """Fence the producers of tasks 0 to ``tasks`` - 1 by a newer epoch (invariant 2). Blocks.

    Raise RetriableError where trying again may help. Done before a connector's new task count record is written.
    """
    name = connector_config["name"] or ""
    ids = [worker.transactional_id(name, task) for task in range(tasks)]
    if ids:
        log.info("Fencing the producers of %d task(s) of connector %s", tasks, name)
        AdminClient(fencing_admin(worker, connector_config)).fence_producers(ids).all()
