# SPDX-License-Identifier: Apache-2.0
"""Java-style properties of every Kafka client of a worker and its tasks: who they are, and what must be so.

A later source of a property wins: what the worker needs, its top-level connection settings, its ``producer.``,
``consumer.`` or ``admin.`` properties, the connector's ``….override.`` properties, which the worker's policy has judged
before (``headrace.plugins.override_policies``). What correctness rests on wins over
all of them, with a warning. Java: ``Worker.baseProducerConfigs`` and its neighbours. Bytes go in and out, so
serializers are not among the properties.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from headrace.config.distributed_config import GROUP_ID, DistributedConfig
from headrace.config.override_policy import overrides_of
from headrace.config.worker_config import BOOTSTRAP_SERVERS, LISTENERS, WorkerConfig
from headrace.model.cluster_config_state import Config

log = logging.getLogger(__name__)

_CONNECTION_PREFIXES: Final = ("security.", "sasl.", "ssl.")
_COMMON: Final = frozenset(
    {
        *("client.dns.lookup", "client.rack", "connections.max.idle.ms", "metadata.max.age.ms", "receive.buffer.bytes"),
        *("reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retry.backoff.max.ms"),
        *("retry.backoff.ms", "send.buffer.bytes", "socket.connection.setup.timeout.max.ms"),
        "socket.connection.setup.timeout.ms",
    }
)
_MAX_INT: Final = str(2**31 - 1)
_MAX_LONG: Final = str(2**63 - 1)
TRANSACTIONAL_ID: Final = "transactional.id"
ISOLATION: Final = "isolation.level"
_CONSUMER_BASE: Final = {"auto.offset.reset": "earliest", "enable.auto.commit": "false", ISOLATION: "read_uncommitted"}
_PRODUCER_BASE: Final = {
    "enable.idempotence": "false",
    "acks": "all",
    "max.in.flight.requests.per.connection": "1",
    "delivery.timeout.ms": _MAX_INT,
}


# ---- the worker's own clients


def config_log_consumer(worker: DistributedConfig) -> dict[str, str]:
    """Reads the config topic; read_committed, for the leader's writes are transactions (invariant 7)."""
    isolation = "read_committed" if worker.transactional_leader_enabled else "read_uncommitted"
    return _log_consumer(worker, "configs", isolation)


def config_log_producer(worker: DistributedConfig) -> dict[str, str]:
    """Java's writer of the config topic where exactly-once is off; see ``leader_producer``."""
    return _log_producer(worker, "configs")


def leader_producer(worker: DistributedConfig) -> dict[str, str]:
    """The leader's writer of the config topic (invariant 7); nobody can choose its ``transactional.id`` (KIP-618)."""
    if TRANSACTIONAL_ID in worker.raw:
        message = "%s=%s is ignored: the leader writes the config topic as %s"
        log.warning(message, TRANSACTIONAL_ID, worker.raw[TRANSACTIONAL_ID], worker.transactional_leader_id)
    return config_log_producer(worker) | {
        "client.id": f"{_own_client_id(worker, 'configs')}-leader",
        "enable.idempotence": "true",
        "max.in.flight.requests.per.connection": "5",
        TRANSACTIONAL_ID: worker.transactional_leader_id,
    }


def status_log_consumer(worker: DistributedConfig) -> dict[str, str]:
    """Reads the status topic."""
    return _log_consumer(worker, "statuses", "read_uncommitted")


def status_log_producer(worker: DistributedConfig) -> dict[str, str]:
    """Writes the status topic; gives up after two minutes, as statuses get old."""
    return _log_producer(worker, "statuses") | {"delivery.timeout.ms": "120000"}


def offsets_log_consumer(worker: DistributedConfig) -> dict[str, str]:
    """Reads the global offsets topic; read_committed with exactly-once on (invariant 3)."""
    return _log_consumer(
        worker, "offsets", "read_committed" if worker.exactly_once_source_enabled else "read_uncommitted"
    )


def offsets_log_producer(worker: DistributedConfig) -> dict[str, str]:
    """Writes the global offsets topic outside of transactions."""
    return _log_producer(worker, "offsets")


def admin(worker: WorkerConfig) -> dict[str, str]:
    """Creates and describes the worker's own topics."""
    return _common(worker) | {"client.id": _own_client_id(worker, "shared-admin")}


def group_member(worker: DistributedConfig, worker_id: str) -> dict[str, str]:
    """Joins the group. ``worker_id`` stands in for a ``client.id`` of the worker's, as in Java."""
    return admin(worker) | {"client.id": worker.client_id or f"connect-{worker_id}"}


# ---- clients of one connector


def source_task_producer(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Of a source task; transactional with exactly-once on (invariant 2)."""
    name = _name(connector_config)
    client_id = f"connector-producer-{name}-{task}"
    if not worker.exactly_once_source_enabled:
        return _connector_producer(worker, connector_config, client_id, {TRANSACTIONAL_ID: None})
    required = {"enable.idempotence": "true", TRANSACTIONAL_ID: worker.transactional_id(name, task)}
    return _connector_producer(worker, connector_config, client_id, required)


def source_task_admin(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Creates a source task's topics (topic.creation.*)."""
    return _source_admin(worker, connector_config, f"connector-adminclient-{_name(connector_config)}-{task}")


def source_offsets_consumer(worker: WorkerConfig, connector_config: Config, task: int | None = None) -> dict[str, str]:
    """Reads a connector's own offsets topic, for the connector itself or for one of its tasks."""
    required: dict[str, str | None] = {"auto.offset.reset": "earliest"}
    if worker.exactly_once_source_enabled:
        required[ISOLATION] = "read_committed"
    connection = _producers_connection(worker, connector_config)
    return _connector_consumer(worker, connector_config, task, "read_committed", required, connection)


def source_offsets_admin(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Creates and describes a connector's own offsets topic."""
    return _source_admin(worker, connector_config, f"connector-adminclient-{_name(connector_config)}")


def targets_other_cluster(worker: WorkerConfig, connector_config: Config) -> bool:
    """Whether a source connector's producers write to another Kafka cluster than the worker's internal topics are in.

    As in Java that is told by ``bootstrap.servers``, in whatever order they are named.
    """
    return _servers(producer_servers(worker, connector_config)) != _servers(worker.bootstrap_servers)


def producer_servers(worker: WorkerConfig, connector_config: Config) -> str:
    """The ``bootstrap.servers`` of a source connector's producers."""
    return _chosen_producer(worker, connector_config).get(BOOTSTRAP_SERVERS) or worker.bootstrap_servers


def offset_alter_producer(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Writes altered offsets (KIP-875). With exactly-once on its ``transactional.id`` is task 0's, as in released Kafka
    Connect: so neither can write once the other has begun (invariant 2), and no ACL is needed that tasks do not need.
    KIP-875's text has ``${groupId}-${connector}``, which is also that of a task where a connector is named ``x-0``."""
    if worker.exactly_once_source_enabled:
        return source_task_producer(worker, connector_config, 0)
    client_id = f"connector-offset-producer-{_name(connector_config)}"
    return _connector_producer(worker, connector_config, client_id, {TRANSACTIONAL_ID: None})


def sink_task_consumer(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Of a sink task, which commits its offsets itself, after ``put`` and ``flush`` (invariant 9)."""
    return _connector_consumer(worker, connector_config, task, "read_uncommitted", {"enable.auto.commit": "false"})


def dead_letter_producer(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Writes what a sink task sets aside."""
    client_id = f"connector-dlq-producer-{_name(connector_config)}-{task}"
    return _connector_producer(worker, connector_config, client_id, {TRANSACTIONAL_ID: None})


def dead_letter_admin(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Creates a sink connector's dead letter topic."""
    return _connector_admin(worker, connector_config, f"connector-dlq-adminclient-{_name(connector_config)}-{task}")


def fencing_admin(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Fences a source connector's task producers, in the cluster that they write to."""
    return _source_admin(worker, connector_config, f"connector-worker-adminclient-{_name(connector_config)}")


def consumer_group_admin(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Reads and alters a sink connector's consumer group."""
    return _connector_admin(worker, connector_config, f"connector-worker-adminclient-{_name(connector_config)}")


# ---- how they are put together


def _name(connector_config: Config) -> str:
    return connector_config["name"] or ""


def _connection(worker: WorkerConfig) -> dict[str, str]:
    """How to reach the cluster and who to be there."""
    secured = {key: text for key, text in worker.raw.items() if key.startswith(_CONNECTION_PREFIXES)}
    secured.pop("ssl.client.auth", None)  # It concerns the REST API's listeners alone.
    return {BOOTSTRAP_SERVERS: worker.bootstrap_servers} | secured


def _common(worker: WorkerConfig) -> dict[str, str]:
    return _connection(worker) | {key: text for key, text in worker.raw.items() if key in _COMMON}


def _own_client_id(worker: WorkerConfig, use: str) -> str:
    return "-".join(part for part in (worker.group_id, worker.client_id, use) if part)


def _log_consumer(worker: DistributedConfig, use: str, isolation: str) -> dict[str, str]:
    identity = {"client.id": _own_client_id(worker, use), GROUP_ID: worker.group_id, ISOLATION: isolation}
    return _common(worker) | _CONSUMER_BASE | identity


def _log_producer(worker: DistributedConfig, use: str) -> dict[str, str]:
    return _common(worker) | _PRODUCER_BASE | {"client.id": _own_client_id(worker, use), "max.block.ms": "60000"}


def _connector_producer(
    worker: WorkerConfig, connector_config: Config, client_id: str, required: Mapping[str, str | None]
) -> dict[str, str]:
    chosen = _chosen_producer(worker, connector_config)
    base = _PRODUCER_BASE | {"client.id": client_id, "max.block.ms": _MAX_LONG} | _connection(worker)
    return _require(base, chosen, required, _name(connector_config))


def _connector_consumer(
    worker: WorkerConfig,
    connector_config: Config,
    task: int | None,
    isolation: str,
    required: Mapping[str, str | None],
    connection: Mapping[str, str] | None = None,
) -> dict[str, str]:
    name = _name(connector_config)
    identity = {
        "client.id": f"connector-consumer-{name}" if task is None else f"connector-consumer-{name}-{task}",
        GROUP_ID: f"connect-{name}",
        ISOLATION: isolation,
    }
    chosen = worker.with_prefix("consumer.") | overrides_of(connector_config, "consumer")
    return _require({**_CONSUMER_BASE, **identity, **(connection or _connection(worker))}, chosen, required, name)


def _source_admin(worker: WorkerConfig, connector_config: Config, client_id: str) -> dict[str, str]:
    return _connector_admin(worker, connector_config, client_id, _producers_connection(worker, connector_config))


def _chosen_producer(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    return worker.with_prefix("producer.") | overrides_of(connector_config, "producer")


def _producers_connection(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Where the connector's records go its offsets go too (KIP-618), and there is whom to fence. So the clients beside
    the producer connect as it does to another cluster, if they are not told otherwise."""
    if not targets_other_cluster(worker, connector_config):
        return _connection(worker)
    names = (BOOTSTRAP_SERVERS, *_CONNECTION_PREFIXES)
    chosen = _chosen_producer(worker, connector_config)
    return _connection(worker) | {name: value for name, value in chosen.items() if name.startswith(names)}


def _servers(text: str) -> frozenset[str]:
    return frozenset(server.strip() for server in text.split(",") if server.strip())


def _connector_admin(
    worker: WorkerConfig, connector_config: Config, client_id: str, connection: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A worker's ``client.id`` replaces the client id here, as in Java."""
    return (
        {"client.id": worker.client_id or client_id}
        | _common(worker)
        | dict(connection or {})
        # Not all that begins so is for a client: the REST API has admin.listeners.
        | {key: text for key, text in worker.with_prefix("admin.").items() if not key.startswith(LISTENERS)}
        | overrides_of(connector_config, "admin")
    )


def _require(
    base: Mapping[str, str], chosen: Mapping[str, str], required: Mapping[str, str | None], connector: str
) -> dict[str, str]:
    """``base`` under what users chose under what they cannot choose (None: must not be set)."""
    for name, value in required.items():
        if name in chosen and (value is None or chosen[name].lower() != value.lower()):
            instead = "left out" if value is None else value
            message = "Connector %s: client property %s=%s cannot be overridden; it is %s"
            log.warning(message, connector, name, chosen[name], instead)
    merged = {**base, **chosen, **required}
    return {name: value for name, value in merged.items() if value is not None}
