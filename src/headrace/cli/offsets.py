# SPDX-License-Identifier: Apache-2.0
"""`headrace offsets migrate`, which needs Kafka and no REST API; ``ctl`` has the other commands of the group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headrace.api.errors import ConfigError, ConnectError
from headrace.cli.console import LogLevel, configure_logging, examples, one_line_errors
from headrace.cli.ctl.ctl_error import near_name

if TYPE_CHECKING:
    from headrace.config.distributed_config import DistributedConfig
    from headrace.model.cluster_config_state import ClusterConfigState
    from headrace.storage.offset_backing_store import KafkaOffsetBackingStore
    from headrace.worker.offsets.offset_stores import Migration

offsets = typer.Typer(
    name="offsets", help="Offsets of connectors: show, compare, change and carry them.", no_args_is_help=True
)

_TIMEOUT: Final = 60.0


@offsets.command(
    epilog=examples(
        "headrace offsets migrate worker.properties orders",
        "headrace offsets migrate worker.properties orders --log-level info",
    )
)
def migrate(
    worker_properties: Annotated[Path, typer.Argument(help="A worker's properties file.", show_default=False)],
    connector: Annotated[str, typer.Argument(help="The connector's name. It has to be stopped.", show_default=False)],
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="How much to log.")] = LogLevel.WARNING,
) -> None:
    """Copy a stopped connector's offsets from the workers' topic to the connector's own offsets topic, once.

    Connectors do not need it: they read both topics. It lets the workers' topic be given up.
    """
    configure_logging(log_level)
    with one_line_errors():
        _report(connector, _migrate(worker_properties, connector))


def _report(connector: str, migration: Migration) -> None:
    if migration.before:
        typer.echo(f"Connector {connector}: nothing to do, topic '{migration.topic}' was migrated to or used before")
    elif migration.copied:
        typer.echo(f"Connector {connector}: {migration.copied} offsets copied to topic '{migration.topic}'")
    else:
        typer.echo(f"Connector {connector}: there were no offsets, and topic '{migration.topic}' says so now")


def _migrate(worker_properties: Path, connector: str) -> Migration:
    from headrace.cli.worker_process import resolved_properties
    from headrace.config.distributed_config import DistributedConfig
    from headrace.config.properties_file import read_properties
    from headrace.plugins.command_access import command_access
    from headrace.plugins.config_transformer import config_transformer
    from headrace.plugins.discovery import plugins_of
    from headrace.plugins.override_policies import override_policy
    from headrace.worker.offsets.offset_stores import OffsetStores
    from headrace.worker.producer_fencing import fence_zombies
    from headrace.worker.runnable_configs import RunnableConfigs

    with resolved_properties(read_properties(worker_properties)) as properties:
        config = DistributedConfig(properties)
        plugins = plugins_of(config.raw)
        state = _cluster_state(config)
        stored = state.connector_config(connector)
        _check(connector, state)
        assert stored is not None
        transformer = config_transformer(config.raw, plugins)
        policy = override_policy(config, plugins)
        configs = RunnableConfigs(transformer, policy, plugins, command_access(config.raw))
        resolved = configs.resolve_connector(stored)
        with resolved.hidden_errors(), _worker_store(config) as common:
            stores = OffsetStores(config, common)
            try:
                if config.exactly_once_source_enabled:
                    # A task that missed the stop can write nothing more (invariant 2).
                    fence_zombies(config, resolved.config, state.task_count_records.get(connector, 0))
                return stores.migrate(resolved.config)
            finally:
                stores.stop()
                transformer.close()


def _check(connector: str, state: ClusterConfigState) -> None:
    from headrace.model.state import TargetState

    target = state.target_state(connector)
    if target is None:
        names = state.connectors()
        hint = near_name(connector, names) or f"Connectors: {', '.join(names) or 'there are none'}"
        raise ConfigError(f"There is no connector {connector} in the workers' config topic. {hint}")
    if target is not TargetState.STOPPED:
        raise ConnectError(
            f"Connector {connector} is {target.value}, and its offsets may move: stop it first "
            f"(headrace connectors stop {connector} --wait), and resume it afterwards"
        )


def _cluster_state(config: DistributedConfig) -> ClusterConfigState:
    from headrace.config import client_configs
    from headrace.kafka.admin.topic_admin import TopicAdmin
    from headrace.storage.internal_topic import LogClients, compacted_topic
    from headrace.storage.kafka_config_backing_store import KafkaConfigBackingStore

    topic, admin = config.config_topic, client_configs.admin(config)
    if TopicAdmin(admin).describe(topic.name) is None:
        reason = f"there is no such topic at bootstrap.servers={config.bootstrap_servers}"
        raise ConfigError.invalid("config.storage.topic", topic.name, reason)
    spec = compacted_topic(topic.name, "config.storage", topic.partitions, topic.replication_factor, topic.config)
    clients = LogClients(client_configs.config_log_consumer(config), None, admin)
    store = KafkaConfigBackingStore(spec, clients, client_configs.leader_producer(config), lambda state, updates: None)
    store.start()
    try:
        return store.refresh(_TIMEOUT)
    finally:
        store.stop()


@contextmanager
def _worker_store(config: DistributedConfig) -> Iterator[KafkaOffsetBackingStore]:
    from headrace.config import client_configs
    from headrace.storage.internal_topic import LogClients, compacted_topic
    from headrace.storage.offset_backing_store import KafkaOffsetBackingStore

    topic = config.offset_topic
    spec = compacted_topic(topic.name, "offset.storage", topic.partitions, topic.replication_factor, topic.config)
    clients = LogClients(client_configs.offsets_log_consumer(config), None, client_configs.admin(config))
    store = KafkaOffsetBackingStore(spec, clients)
    store.start()
    try:
        yield store
    finally:
        store.stop()
