# SPDX-License-Identifier: Apache-2.0
"""The connectors of a worker as lineage sees them: their condition, their topics and the datasets that they return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from headrace.api.config_def import Type
from headrace.api.datasets import Dataset, Fields
from headrace.api.errors import ConnectError
from headrace.config.connector_config import TRANSFORMS
from headrace.config.sink_connector_config import TOPICS
from headrace.config.worker_config import BOOTSTRAP_SERVERS
from headrace.herder.herder import Herder
from headrace.lineage.lineage_runs import Condition, SeenConnector
from headrace.model.cluster_config_state import Config
from headrace.model.info import ConnectorInfo, ConnectorState, ConnectorStateInfo, TaskState
from headrace.plugins.configured_plugins import configured_plugins
from headrace.plugins.secret_texts import mask_text, secrets_of
from headrace.worker.worker import Worker

_TIMEOUT: Final = 1.0
"""Seconds that a connector may take to return its datasets; one that takes longer is asked again later."""
_FAILED: Final = "FAILED"
_SOURCE: Final = "source"
_CONDITIONS: Final = {"RUNNING": Condition.UP, "PAUSED": Condition.UP, "STOPPED": Condition.DOWN}


Schemas = Mapping[str, Fields]
"""The fields of records' values by topic."""


class LineageView:
    """A reader of herder and worker, on lineage's own thread."""

    def __init__(self, herder: Herder, worker: Worker, bootstrap_servers: str) -> None:
        self._herder = herder
        self._worker = worker
        self._servers = bootstrap_servers
        self._passwords: dict[str, frozenset[str]] = {}
        """The properties of type PASSWORD by a plugin's class."""

    def connectors(self) -> dict[str, SeenConnector]:
        """Return the connectors on this worker."""
        found = ((name, self._seen(name)) for name in self._worker.connector_names())
        return {name: seen for name, seen in found if seen is not None}

    def topics_of_other_workers(self) -> Iterator[Dataset]:
        """Return the topics with a schema of tasks here whose connector is on another worker."""
        here = self._worker.connector_names()
        for id, schemas in self._worker.record_schemas().items():
            info = self._info(id.connector) if id.connector not in here else None
            if info is not None:
                for topic, fields in _in_kafka(info, schemas).items():
                    yield Dataset(self._cluster(info.config), topic, fields)

    def _seen(self, name: str) -> SeenConnector | None:
        try:
            info, status = self._herder.connector_info(name), self._herder.connector_status(name)
        except ConnectError:  # it has just been created or deleted, or the worker starts
            return None
        topics = self._topics(name, info.config)
        observed = self._schemas(name)
        schemas, rows = _in_kafka(info, observed), _outside(info, observed)
        in_kafka = tuple(Dataset(self._cluster(info.config), topic, schemas.get(topic, ())) for topic in topics)
        try:
            datasets = self._worker.connector_datasets(name, topics).result(_TIMEOUT)
        except (ConnectError, TimeoutError):
            datasets = ()
        outside = tuple(_with_columns(each, rows) for each in datasets)
        inputs, outputs = (outside, in_kafka) if info.type == _SOURCE else (in_kafka, outside)
        condition, error = _condition(status)
        if error:  # it leaves the cluster
            error = mask_text(error, secrets_of(info.config, self._passwords_of(info.config)))
        return SeenConnector(self._worker.connector_starts(name), condition, inputs, outputs, error)

    def _passwords_of(self, config: Config) -> frozenset[str]:
        """Return the properties of type PASSWORD; of a plugin without a definition, names and shapes decide."""
        plugins = configured_plugins(config)
        return frozenset(f"{prefix}{key}" for plugin, prefix in plugins for key in self._passwords_in(plugin))

    def _passwords_in(self, plugin: str) -> frozenset[str]:
        if plugin not in self._passwords:
            try:
                keys = self._herder.connector_plugin_config(plugin).result(_TIMEOUT)
            except (ConnectError, TimeoutError):
                return frozenset()
            self._passwords[plugin] = frozenset(key.name for key in keys if key.type == Type.PASSWORD.value)
        return self._passwords[plugin]

    def _topics(self, name: str, config: Config) -> tuple[str, ...]:
        """Return those that were used so far, and those that a sink is to read."""
        named = {topic.strip() for topic in (config.get(TOPICS) or "").split(",")}
        with suppress(ConnectError):  # topics need not be tracked
            named.update(self._herder.active_topics(name))
        return tuple(sorted(named - {""}))

    def _schemas(self, name: str) -> Schemas:
        schemas: dict[str, Fields] = {}
        for id, own in self._worker.record_schemas().items():
            if id.connector == name:
                schemas.update(own)
        return schemas

    def _info(self, name: str) -> ConnectorInfo | None:
        try:
            return self._herder.connector_info(name)
        except ConnectError:
            return None

    def _cluster(self, config: Config) -> str:
        """Return the namespace of a connector's topics: the first of the brokers that its tasks' clients connect to."""
        overrides = (config.get(f"{client}.override.{BOOTSTRAP_SERVERS}") for client in ("producer", "consumer"))
        servers = next(filter(None, overrides), self._servers)
        return f"kafka://{servers.split(',')[0].strip().rpartition('//')[2]}"


def _in_kafka(info: ConnectorInfo, observed: Schemas) -> Schemas:
    """Return the schemas of the topics' own records: a sink's are observed behind its transformations."""
    return observed if info.type == _SOURCE or not _transforms(info) else {}


def _outside(info: ConnectorInfo, observed: Schemas) -> Schemas:
    """Return the schemas of the rows outside Kafka: a source's records are observed behind its transformations."""
    return observed if info.type != _SOURCE or not _transforms(info) else {}


def _transforms(info: ConnectorInfo) -> bool:
    return bool((info.config.get(TRANSFORMS) or "").strip())


def _with_columns(dataset: Dataset, rows: Schemas) -> Dataset:
    if dataset.fields:
        return dataset
    columns = {name: type for topic in sorted(dataset.topics) for name, type in rows.get(topic, ())}
    return replace(dataset, fields=tuple(columns.items()))


def _condition(status: ConnectorStateInfo) -> tuple[Condition, str]:
    states: tuple[ConnectorState | TaskState, ...] = (status.connector, *status.tasks)
    for each in states:
        if each.state == _FAILED:
            return Condition.FAILED, each.trace or _FAILED
    return _CONDITIONS.get(status.connector.state, Condition.UNCLEAR), ""
