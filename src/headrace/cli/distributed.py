# SPDX-License-Identifier: Apache-2.0
"""`headrace distributed`: puts a worker of a cluster together and runs it."""

from __future__ import annotations

from pathlib import Path

from headrace.cli.worker_process import WorkerProcess, resolved_properties
from headrace.config.distributed_config import DistributedConfig
from headrace.config.properties_file import read_properties
from headrace.rest.listeners import BoundListeners
from headrace.rest.server import RestServer


def run(worker_properties: Path) -> int:
    """Blocks until the worker has stopped; the exit code. ConfigError for properties that cannot be meant.

    The sockets are bound before anything is imported that takes time, so that clients need not try twice.
    """
    with resolved_properties(read_properties(worker_properties)) as properties:
        config = DistributedConfig(properties)
        listeners = BoundListeners.bind(config.listeners)
        try:
            return _serve(config, listeners)
        finally:
            listeners.close()


def _serve(config: DistributedConfig, listeners: BoundListeners) -> int:
    from headrace.distributed.assembly import distributed_herder
    from headrace.plugins.discovery import plugins_of
    from headrace.rest.app import OtherWorkers, create_app
    from headrace.rest.internal_request_signature import SignatureVerifier
    from headrace.rest.leader_client import LeaderClient
    from headrace.rest.rest_client import RestClient
    from headrace.spark.spark_task_launcher import SparkTaskLauncher

    url = listeners.advertised_url(config.get("rest.advertised.host.name"), config.get("rest.advertised.port"))
    client = RestClient()
    leader = LeaderClient(client, config.signature_algorithm)
    herder = distributed_herder(config, plugins_of(config.raw), SparkTaskLauncher(config.spark), url, leader)
    others = OtherWorkers(herder, client, SignatureVerifier(config.verification_algorithms))
    server = RestServer(create_app(herder, others=others), listeners)
    return WorkerProcess(herder, server, listeners.local_url, config).run()
