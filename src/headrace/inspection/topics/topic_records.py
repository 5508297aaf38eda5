# SPDX-License-Identifier: Apache-2.0
"""Answers about the topics of connectors and their records.

The worker has credentials for all topics that any of its connectors uses, so a request is served for topics of its
connector only, and never for the workers' own topics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.connector_config import DLQ_TOPIC
from headrace.config.sink_connector_config import TOPICS, TOPICS_REGEX
from headrace.config.worker_config import WorkerConfig
from headrace.herder.errors import ForbiddenError, NotFoundError
from headrace.herder.herder import Herder
from headrace.inspection.decoded_record import hide_in_errors
from headrace.inspection.sandbox import Sandbox, SandboxClosedError, SandboxError
from headrace.inspection.topics.records_job import CONNECTOR, RecordsSpec
from headrace.kafka.admin.cluster_queries import ClusterQueries
from headrace.kafka.admin.topic_admin import TopicAdmin
from headrace.model.cluster_config_state import Config
from headrace.plugins.discovery import comma_separated
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.runnable_configs import RunnableConfigs

Json = dict[str, Any]
MOST_RECORDS: Final = 1000
LONGEST_WAIT_S: Final = 30
_START_S: Final = 45.0
"""Seconds for the start of a process, and for a read that does not wait for records."""
_SIZES_S: Final = 10.0
_SINK: Final = "sink"
_NOT_FOUND: Final = ("UnknownTopicError", "UnknownPartitionError")
"""Classes of the job's errors about what does not exist."""
_INTERNAL: Final = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")
_KAFKAS_OWN: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state")


class Direction(Enum):
    """The use that a connector makes of a topic."""

    READS = "reads"
    WRITES = "writes"
    DEAD_LETTERS = "dead letters"


@dataclass(frozen=True, slots=True)
class ConnectorTopics:
    """The topics that a connector uses, from its configuration and its active topics (KIP-558).

    ``pattern`` is that of further ones that a sink would read.
    """

    directions: dict[str, Direction]
    pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, config: Config, active: Iterable[str], *, is_sink: bool) -> ConnectorTopics:
        """Return the topics of a connector with this resolved configuration; ``active`` are those that it has used."""
        directions = dict.fromkeys(active, Direction.READS if is_sink else Direction.WRITES)
        pattern = None
        if is_sink:
            directions |= dict.fromkeys(comma_separated(config.get(TOPICS)), Direction.READS)
            with suppress(re.error):  # its tasks do not start with it
                pattern = re.compile(config.get(TOPICS_REGEX) or "") if config.get(TOPICS_REGEX) else None
        if dead_letters := (config.get(DLQ_TOPIC) or "").strip():
            directions[dead_letters] = Direction.DEAD_LETTERS
        return cls(directions, pattern)

    def includes(self, topic: str) -> bool:
        """Return True if the connector uses the topic, or would read it if it existed."""
        return topic in self.directions or (self.pattern is not None and self.pattern.fullmatch(topic) is not None)


@dataclass(frozen=True, slots=True)
class RecordsRequest:
    """A choice of records of a topic: see ``RecordsSpec``."""

    begin: str
    limit: int
    wait: float = 0
    partition: int | None = None
    raw: bool = False
    decoding: str = CONNECTOR


@dataclass(frozen=True, slots=True)
class _Known:
    resolved: ResolvedConfig
    is_sink: bool
    topics: ConnectorTopics


class TopicRecords:
    """Answers about topics. All methods block, for Kafka, config providers or a process; any thread may call."""

    def __init__(self, herder: Herder, worker: WorkerConfig, configs: RunnableConfigs, sandbox: Sandbox) -> None:
        self._herder = herder
        self._worker = worker
        self._configs = configs
        self._sandbox = sandbox

    def statistics(self, connector: str) -> list[Json]:
        """Return the topics of a connector, sorted: what it does with each, its partitions and number of records.

        The number is that of offsets, so it includes markers of transactions and what compaction has removed; None,
        with an ``error``, for a topic that does not exist or may not be described. ``bytes`` are those on the disk of
        one broker, None where brokers do not report it. Raise NotFoundError.
        """
        known = self._known(connector)
        admin = TopicAdmin(self._admin_properties(known))
        try:
            found = [_statistics(admin, topic, how) for topic, how in sorted(known.topics.directions.items())]
        finally:
            admin.close()
        partitions = {each["topic"]: range(each["partitions"]) for each in found if each["partitions"]}
        sizes = _sizes(self._admin_properties(known), partitions)
        return [{**each, "bytes": sizes.get(each["topic"])} for each in found]

    def records(self, connector: str, topic: str, request: RecordsRequest, cancelled: Callable[[], bool]) -> Json:
        """Return records of a topic, and the positions to continue at.

        Raise NotFoundError for a topic that the connector does not use or that does not exist, or a partition that does
        not; ForbiddenError for one of the workers' own topics; SandboxClosedError if the worker stops.
        """
        known = self._known(connector)
        self._check_access(connector, topic, known.topics)
        spec = RecordsSpec(
            dict(self._worker.raw),
            known.resolved.properties,
            self._consumer_properties(known),
            topic,
            request.begin,
            request.limit,
            request.wait,
            request.partition,
            request.raw,
            request.decoding,
        )
        try:
            items = self._sandbox.run("read of records", spec.to_json(), request.wait + _START_S, cancel=cancelled)
        except SandboxError as error:
            raise _of_job(error, known.resolved) from None
        end = items.pop()
        records = [hide_in_errors(item["record"], known.resolved.hide) for item in items]
        return {"topic": topic, "records": records, **end}

    def _known(self, connector: str) -> _Known:
        info = self._herder.connector_info(connector)
        active: tuple[str, ...] = ()
        with suppress(ForbiddenError):  # the worker does not track them
            active = self._herder.active_topics(connector)
        resolved = self._configs.resolve_connector(info.config)
        is_sink = info.type == _SINK
        return _Known(resolved, is_sink, ConnectorTopics.of(resolved.config, active, is_sink=is_sink))

    def _check_access(self, connector: str, topic: str, topics: ConnectorTopics) -> None:
        if not topics.includes(topic):
            used = ", ".join(sorted(topics.directions)) or "none yet"
            raise NotFoundError(f"Connector {connector} does not use topic {topic}. Its topics: {used}")
        own = {self._worker.raw.get(name) for name in _INTERNAL}
        if topic in own or topic in _KAFKAS_OWN:
            raise ForbiddenError(f"Topic {topic} is internal, and has more than connector {connector} may see")

    def _consumer_properties(self, known: _Known) -> dict[str, str]:
        if known.is_sink:
            found = client_configs.sink_task_consumer(self._worker, known.resolved.config, 0)
        else:
            found = client_configs.source_offsets_consumer(self._worker, known.resolved.config)
        return {**found, "client.id": f"{found['client.id']}-records"}

    def _admin_properties(self, known: _Known) -> dict[str, str]:
        if known.is_sink:
            return client_configs.consumer_group_admin(self._worker, known.resolved.config)
        return client_configs.source_offsets_admin(self._worker, known.resolved.config)


def _statistics(admin: TopicAdmin, topic: str, direction: Direction) -> Json:
    shown: Json = {"topic": topic, "direction": direction.value, "partitions": None, "records": None}
    try:
        begin, end = admin.begin_offsets(topic), admin.end_offsets(topic)
    except ConnectError as error:
        return {**shown, "error": error_text(error)}
    if not end:
        return {**shown, "error": "It does not exist"}
    return {**shown, "partitions": len(end), "records": _total(end) - _total(begin)}


def _sizes(props: Mapping[str, str], partitions: Mapping[str, range]) -> dict[str, int]:
    """Return the bytes of topics; none where brokers refuse to report them: that needs Describe on the Cluster."""
    if not partitions:
        return {}
    with suppress(ConnectError), closing(ClusterQueries(props, _SIZES_S)) as queries:
        return queries.topic_sizes(partitions)
    return {}


def _total(offsets: Mapping[int, int]) -> int:
    return sum(offsets.values())


def _of_job(error: SandboxError, resolved: ResolvedConfig) -> ConnectError:
    """Return the error to answer with, without values of references."""
    if isinstance(error, SandboxClosedError):
        return error
    message = resolved.hide(error_text(error))
    return NotFoundError(message) if error.type in _NOT_FOUND else ConnectError(message)
