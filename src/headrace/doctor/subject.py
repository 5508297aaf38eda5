# SPDX-License-Identifier: Apache-2.0
"""The worker that is checked, with the answers of its brokers that checks share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.distributed_config import DistributedConfig
from headrace.config.sink_connector_config import TOPICS, TOPICS_REGEX
from headrace.config.worker_config import WorkerConfig
from headrace.kafka.admin.cluster_queries import ClusterQueries, Topic
from headrace.kafka.admin.topic_contents import topic_contents
from headrace.model.cluster_config_state import ClusterConfigState, Config
from headrace.plugins.config_transformer import config_transformer
from headrace.plugins.discovery import Plugins, connector_type, plugins_of
from headrace.storage.config_log import ConfigLog

TIMEOUT_S: Final = 6.0
"""Seconds for each answer of the brokers, and for a connection to them."""
_CONNECTION: Final = ("bootstrap.servers", "security.", "sasl.", "ssl.")


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector of the config topic; ``config`` has its name and, where they could be resolved, no references.

    ``stored`` is the configuration as it is in the topic.
    """

    name: str
    kind: str
    config: Config
    stored: Config
    tasks: int


def connection_of(props: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that decide where a client connects to, and as whom."""
    return {name: text for name, text in props.items() if name.startswith(_CONNECTION)}


def logins(config: WorkerConfig) -> dict[str, dict[str, str]]:
    """Return the connections that a worker's properties define, by prefix, the worker's first; equal ones once."""
    anyone: Config = {"name": ""}
    clients = {
        "": client_configs.admin(config),
        "producer.": client_configs.dead_letter_producer(config, anyone, 0),
        "consumer.": client_configs.sink_task_consumer(config, anyone, 0),
        "admin.": client_configs.consumer_group_admin(config, anyone),
    }
    found: dict[str, dict[str, str]] = {}
    for prefix, props in clients.items():
        connection = connection_of(props)
        if connection not in found.values():
            found[prefix] = connection
    return found


class KafkaView:
    """The answers of brokers that checks share, each requested once. Any thread may ask; it may block for seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[Any, Future[Any]] = {}

    def queries(self, props: Mapping[str, str]) -> ClusterQueries:
        """Return the queries with the login of these properties. Raise ConnectError if brokers cannot be asked."""
        connection = connection_of(props)
        key = frozenset(connection.items())
        found: ClusterQueries = self._once(key, lambda: ClusterQueries(connection, TIMEOUT_S))
        return found

    def connectors(self, config: DistributedConfig) -> Sequence[Connector]:
        """Return the connectors of the config topic; none if there is no topic. ConnectError if it cannot be read."""
        found: Sequence[Connector] = self._once("connectors", lambda: tuple(self._read_connectors(config)))
        return found

    def _read_connectors(self, config: DistributedConfig) -> Iterator[Connector]:
        name, props = config.config_topic.name, client_configs.admin(config)
        topic = self.queries(props).topics([name])[name]
        if topic.exists is None:
            raise ConnectError(f"topic '{name}' may not be read")
        if topic.exists:
            yield from connectors_of(config, _read(props, topic))

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            answers = tuple(self._answers.values())
        for future in answers:
            if future.done() and future.exception() is None and isinstance(future.result(), ClusterQueries):
                future.result().close()

    def _once(self, key: Any, answer: Callable[[], Any]) -> Any:
        with self._lock:
            mine = key not in self._answers
            future = self._answers.setdefault(key, Future())
        if mine:
            try:
                future.set_result(answer())
            except BaseException as error:
                future.set_exception(error)
        return future.result()


def _read(props: Mapping[str, str], topic: Topic) -> ClusterConfigState:
    fold = ConfigLog()
    for record in topic_contents(props, topic.name, [each.id for each in topic.partitions], TIMEOUT_S):
        with suppress(ConnectError):  # a worker passes such a record over, and logs it
            fold.apply(record.key, record.value, record.offset)
    return fold.state


def connectors_of(config: DistributedConfig, state: ClusterConfigState) -> Iterator[Connector]:
    """Yield the connectors of the config topic, as this worker would run them."""
    raw = {name: text for name, text in config.raw.items() if text is not None}
    plugins = plugins_of(raw)
    transformer = config_transformer(raw, plugins)
    for name in state.connectors():
        stored = {**(state.connector_config(name) or {}), "name": name}
        try:
            resolved = transformer.transform(stored).config
        except ConnectError:
            resolved = stored
        yield Connector(name, _kind(plugins, stored), resolved, stored, len(state.tasks(name)))


def _kind(plugins: Plugins, config: Config) -> str:
    try:
        return connector_type(plugins.connector(config.get("connector.class") or "")) or "source"
    except ConnectError:  # it is installed on other workers only, or is Java's
        return "sink" if config.get(TOPICS) or config.get(TOPICS_REGEX) else "source"


@dataclass(frozen=True, slots=True)
class Subject:
    """A worker by its properties. Without a file there is neither a ``file`` nor a ``config``, nor a ``mistake``.

    ``raw`` has the properties as they are in the file, with references to config providers; ``mistake`` is the message
    about properties with which no worker starts, and then there is no ``config``. ``kafka`` has the answers of brokers
    that checks share.
    """

    file: str | None = None
    raw: Mapping[str, str] = field(default_factory=dict)
    config: WorkerConfig | None = None
    mistake: str | None = None
    kafka: KafkaView = field(default_factory=KafkaView, compare=False)

    @property
    def distributed(self) -> DistributedConfig | None:
        """The configuration of a worker in a group; None for a standalone worker, and without a valid file."""
        return self.config if isinstance(self.config, DistributedConfig) else None

    @property
    def spark(self) -> Mapping[str, str]:
        """The properties of Spark."""
        return {name: text for name, text in self.raw.items() if name.startswith("spark.")}
