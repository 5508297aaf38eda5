# SPDX-License-Identifier: Apache-2.0
"""Java-style properties of every Kafka client of a worker and its tasks.

A later source of a property wins: the worker's defaults, its top-level connection settings, its ``producer.``,
``consumer.`` or ``admin.`` properties, the connector's ``….override.`` properties, which the worker's policy has
accepted before (``headrace.plugins.override_policies``). Properties that correctness depends on win over all of them,
with a warning. Java: ``Worker.baseProducerConfigs`` and its neighbours. The clients send and receive bytes, so there
are no serializers among the properties.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from headrace.config.distributed_config import GROUP_ID, DistributedConfig
from headrace.config.override_policy import overrides_of
from headrace.config.rest_config import LISTENERS
from headrace.config.worker_config import BOOTSTRAP_SERVERS, WorkerConfig
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
    """Properties of the config topic's consumer; read_committed, as the leader writes transactions (invariant 7)."""
    isolation = "read_committed" if worker.transactional_leader_enabled else "read_uncommitted"
    return _log_consumer(worker, "configs", isolation)


def config_log_producer(worker: DistributedConfig) -> dict[str, str]:
    """Properties of Java's producer of the config topic with exactly-once disabled; see ``leader_producer``."""
    return _log_producer(worker, "configs")


def leader_producer(worker: DistributedConfig) -> dict[str, str]:
    """The leader's producer of the config topic (invariant 7); its ``transactional.id`` is fixed (KIP-618)."""
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
    """Properties of the consumer of the status topic."""
    return _log_consumer(worker, "statuses", "read_uncommitted")


def status_log_producer(worker: DistributedConfig) -> dict[str, str]:
    """Properties of the producer of the status topic; it gives up after two minutes, as statuses become outdated."""
    return _log_producer(worker, "statuses") | {"delivery.timeout.ms": "120000"}


def offsets_log_consumer(worker: DistributedConfig) -> dict[str, str]:
    """Properties of the global offsets topic's consumer; read_committed with exactly-once enabled (invariant 3)."""
    return _log_consumer(
        worker, "offsets", "read_committed" if worker.exactly_once_source_enabled else "read_uncommitted"
    )


def offsets_log_producer(worker: DistributedConfig) -> dict[str, str]:
    """Properties of the producer of the global offsets topic outside transactions."""
    return _log_producer(worker, "offsets")


def admin(worker: WorkerConfig) -> dict[str, str]:
    """Properties of the admin client that creates and describes the worker's own topics."""
    return _common(worker) | {"client.id": _own_client_id(worker, "shared-admin")}


def group_member(worker: DistributedConfig, worker_id: str) -> dict[str, str]:
    """Properties of the member of the workers' group. ``worker_id`` is the default of its ``client.id``, as in Java."""
    return admin(worker) | {"client.id": worker.client_id or f"connect-{worker_id}"}


# ---- clients of one connector


def source_task_producer(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Properties of the producer of a source task; transactional with exactly-once enabled (invariant 2)."""
    name = _name(connector_config)
    client_id = f"connector-producer-{name}-{task}"
    if not worker.exactly_once_source_enabled:
        return _connector_producer(worker, connector_config, client_id, {TRANSACTIONAL_ID: None})
    required = {"enable.idempotence": "true", TRANSACTIONAL_ID: worker.transactional_id(name, task)}
    return _connector_producer(worker, connector_config, client_id, required)


def source_task_admin(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Properties of the admin client that creates a source task's topics (topic.creation.*)."""
    return _source_admin(worker, connector_config, f"connector-adminclient-{_name(connector_config)}-{task}")


def source_offsets_consumer(worker: WorkerConfig, connector_config: Config, task: int | None = None) -> dict[str, str]:
    """Properties of the consumer of a connector's own offsets topic, for the connector itself or one of its tasks."""
    required: dict[str, str | None] = {"auto.offset.reset": "earliest"}
    if worker.exactly_once_source_enabled:
        required[ISOLATION] = "read_committed"
    connection = _producers_connection(worker, connector_config)
    return _connector_consumer(worker, connector_config, task, "read_committed", required, connection)


def source_offsets_admin(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Properties of the admin client that creates and describes a connector's own offsets topic."""
    return _source_admin(worker, connector_config, f"connector-adminclient-{_name(connector_config)}")


def targets_other_cluster(worker: WorkerConfig, connector_config: Config) -> bool:
    """Return True if a source connector's producers write to another Kafka cluster than that of the internal topics.

    As in Java, clusters are compared by ``bootstrap.servers``, in any order.
    """
    return _servers(producer_servers(worker, connector_config)) != _servers(worker.bootstrap_servers)


def producer_servers(worker: WorkerConfig, connector_config: Config) -> str:
    """Return the ``bootstrap.servers`` of a source connector's producers."""
    return _chosen_producer(worker, connector_config).get(BOOTSTRAP_SERVERS) or worker.bootstrap_servers


def offset_alter_producer(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Properties of the producer that writes altered offsets (KIP-875).

    With exactly-once enabled its ``transactional.id`` is that of task 0, as in released Kafka Connect: so neither can
    write once the other has begun (invariant 2), and it needs no ACL that tasks do not need. KIP-875's text has
    ``${groupId}-${connector}``, which could also be the id of a task of another connector, named ``x-0``.
    """
    if worker.exactly_once_source_enabled:
        return source_task_producer(worker, connector_config, 0)
    client_id = f"connector-offset-producer-{_name(connector_config)}"
    return _connector_producer(worker, connector_config, client_id, {TRANSACTIONAL_ID: None})


def sink_task_consumer(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Properties of a sink task's consumer; the task commits offsets, after ``put`` and ``flush`` (invariant 9)."""
    return _connector_consumer(worker, connector_config, task, "read_uncommitted", {"enable.auto.commit": "false"})


def dead_letter_producer(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Properties of the producer of a task's dead letters."""
    client_id = f"connector-dlq-producer-{_name(connector_config)}-{task}"
    return _connector_producer(worker, connector_config, client_id, {TRANSACTIONAL_ID: None})


def dead_letter_admin(worker: WorkerConfig, connector_config: Config, task: int) -> dict[str, str]:
    """Properties of the admin client that creates a connector's dead letter topic."""
    return _connector_admin(worker, connector_config, f"connector-dlq-adminclient-{_name(connector_config)}-{task}")


def dead_letter_group(connector: str) -> str:
    """Return the group whose offsets say which of a connector's dead letters are pending.

    It is also the ``transactional.id`` of the producer that redrives them, so that a new redrive fences the former one.
    """
    return f"headrace-dead-letters-{connector}"


def dead_letter_consumer(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Properties of the consumer of a connector's dead letters, and of an admin client beside it.

    Its connection is that of the producer of dead letters: the same cluster, and the same principal.
    """
    connection = _connection(worker) | {
        name: text
        for name, text in _chosen_producer(worker, connector_config).items()
        if name.startswith((BOOTSTRAP_SERVERS, *_CONNECTION_PREFIXES))
    }
    name = _name(connector_config)
    identity = {"client.id": f"connector-dlq-consumer-{name}", GROUP_ID: dead_letter_group(name)}
    return _CONSUMER_BASE | connection | identity | {ISOLATION: "read_committed"}


def redrive_producer(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Properties of the transactional producer that redrives a connector's dead letters."""
    name = _name(connector_config)
    required = {"enable.idempotence": "true", TRANSACTIONAL_ID: dead_letter_group(name)}
    return _connector_producer(worker, connector_config, f"connector-dlq-redrive-{name}", required)


def fencing_admin(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Properties of the admin client that fences a source connector's producers, in the cluster that they write to."""
    return _source_admin(worker, connector_config, f"connector-worker-adminclient-{_name(connector_config)}")


def consumer_group_admin(worker: WorkerConfig, connector_config: Config) -> dict[str, str]:
    """Properties of the admin client that reads and alters a sink connector's consumer group."""
    return _connector_admin(worker, connector_config, f"connector-worker-adminclient-{_name(connector_config)}")


# ---- how they are put together


def _name(connector_config: Config) -> str:
    return connector_config["name"] or ""


def _connection(worker: WorkerConfig) -> dict[str, str]:
    """Return the worker's properties of connection and authentication."""
    secured = {key: text for key, text in worker.raw.items() if key.startswith(_CONNECTION_PREFIXES)}
    secured.pop("ssl.client.auth", None)  # of the REST API's listeners only
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
    """Return the connection of the connector's producers, the default for its other clients.

    A connector's offsets are stored in the cluster of its records (KIP-618), and its producers are fenced there.
    """
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
    """Return an admin client's properties; a worker's ``client.id`` replaces ``client_id``, as in Java."""
    return (
        {"client.id": worker.client_id or client_id}
        | _common(worker)
        | dict(connection or {})
        # Except admin.listeners, which is the REST API's.
        | {key: text for key, text in worker.with_prefix("admin.").items() if not key.startswith(LISTENERS)}
        | overrides_of(connector_config, "admin")
    )


def _require(
    base: Mapping[str, str], chosen: Mapping[str, str], required: Mapping[str, str | None], connector: str
) -> dict[str, str]:
    """Merge properties: ``chosen`` over ``base``, and ``required`` over both (None: must not be set)."""
    for name, value in required.items():
        if name in chosen and (value is None or chosen[name].lower() != value.lower()):
            instead = "left out" if value is None else value
            message = "Connector %s: client property %s=%s cannot be overridden; it is %s"
            log.warning(message, connector, name, chosen[name], instead)
    merged = {**base, **chosen, **required}
    return {name: value for name, value in merged.items() if value is not None}
