# SPDX-License-Identifier: Apache-2.0
"""The dead letters of a cluster's connectors, as REST shows and redrives them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from headrace.api.error_text import error_text
from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.connector_config import (
    DLQ_TOPIC,
    HEADER_CONVERTER,
    KEY_CONVERTER,
    PREDICATES,
    TRANSFORMS,
    VALUE_CONVERTER,
)
from headrace.config.sink_connector_config import SinkConnectorConfig
from headrace.herder.errors import BadRequestError, NotFoundError
from headrace.inspection.dead_letters.letter import Letter
from headrace.inspection.dead_letters.letter_decoder import original
from headrace.inspection.dead_letters.letter_json import letter_to_json, outcome_from_json
from headrace.inspection.dead_letters.letter_topic import LetterTopic, NoDeadLettersError
from headrace.inspection.dead_letters.letter_view import LetterPage, LetterQuery
from headrace.inspection.dead_letters.redrive import Redrive
from headrace.inspection.dead_letters.redrive_job import RedriveJob
from headrace.inspection.dead_letters.redrive_rules import (
    Action,
    LetterRequest,
    Outcome,
    Redriver,
    named_only,
    original_record,
)
from headrace.inspection.decoded_record import RecordDecoder, hide_in_errors
from headrace.inspection.sandbox import Sandbox, SandboxBusyError, SandboxCancelledError, SandboxStartError
from headrace.model.cluster_config_state import Config
from headrace.model.deadline import Deadline
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.worker.stages import Stages
from headrace.worker.worker import Worker

log = logging.getLogger(__name__)
_EDITABLE: Final = (KEY_CONVERTER, VALUE_CONVERTER, HEADER_CONVERTER, TRANSFORMS, PREDICATES)
_BATCH_TIMEOUT_S: Final = 120.0
_BUSY_S: Final = 60.0
_BUSY_RETRY_S: Final = 0.5
_CHUNK_BYTES: Final = 4 << 20
_SCAN_S: Final = 20.0
_END_S: Final = 3.0
"""Seconds that a transaction that continues at the end has to be complete; else the next redrive aborts it."""


@dataclass(frozen=True, slots=True)
class _Connector:
    """A connector with its configuration resolved."""

    resolved: ResolvedConfig
    config: dict[str, str]
    is_source: bool
    topic: LetterTopic


class DeadLetters:
    """Reads, redrives and discards dead letters of any connector, on this worker. Thread-safe; only ``close`` blocks.

    Futures raise NotFoundError for an unknown connector and one without a dead letter topic, BadRequestError for a
    request that cannot be served, RetriableError and ConnectError for what Kafka refuses.
    """

    def __init__(
        self,
        worker: Worker,
        connector_configs: Callable[[], Mapping[str, Config]],
        sandbox: Sandbox,
        worker_id: str,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """``connector_configs`` returns those of all connectors by name; ``worker_id`` is that of statuses."""
        self._worker = worker
        self._connector_configs = connector_configs
        self._configs = worker.configs
        self._sandbox = sandbox
        self._worker_id = worker_id
        self._clock_ms = clock_ms
        self._stages = Stages(time.monotonic)
        self._jobs: dict[str, RedriveJob] = {}
        self._closed = threading.Event()

    def show(self, name: str, query: LetterQuery) -> Future[dict[str, Any]]:
        """Return the pending letters: groups of all, and a page of those that the query selects."""
        config = self._connector_config(name)
        return self._stages.run_in_background(f"dead letters of connector {name}", lambda: self._show(config, query))

    def start(self, name: str, request: LetterRequest) -> Future[dict[str, Any]]:
        """Begin a redrive or discard in the background and return its job; of a dry run, what it would do."""
        config = self._connector_config(name)
        stage = f"{request.action.value} of dead letters of connector {name}"
        return self._stages.run_in_background(stage, lambda: self._start(name, config, request))

    def job(self, name: str) -> dict[str, Any]:
        """Return the progress of the connector's last job on this worker. NotFoundError if there is none."""
        self._connector_config(name)
        job = self._jobs.get(name)
        if job is None:
            raise NotFoundError(
                f"This worker, {self._worker_id}, has redriven no dead letters of connector {name} since it was"
                " started; ask the worker that began the redrive"
            )
        return job.to_json()

    def close(self) -> None:
        """Have all jobs end after their present transactions, and wait some seconds for that. Later ones do nothing."""
        self._closed.set()
        deadline = Deadline.after(_END_S)
        for job in list(self._jobs.values()):
            job.wait(deadline.remaining())

    def _connector_config(self, name: str) -> Config:
        config = self._connector_configs().get(name)
        if config is None:
            raise NotFoundError(f"Connector {name} not found")
        return config

    def _show(self, config: Config, query: LetterQuery) -> dict[str, Any]:
        with self._opened(config) as connector:
            topic = connector.topic
            deadline = Deadline.after(_SCAN_S)
            pending = topic.pending(deadline)
            page = LetterPage(query)
            for letter in topic.letters(pending):
                page.add(letter)
                if deadline.expired:
                    page.complete = False
                    break
            estimate = sum(range.end - range.begin for range in pending.values())
            decoded, resolved = self._decoded(connector, page.letters) if query.decode else None, connector.resolved
            return {
                "connector": topic.connector,
                "type": "source" if connector.is_source else "sink",
                "topic": topic.topic,
                "group": topic.group,
                **page.to_json(estimate, decoded, resolved.hide),
            }

    def _start(self, name: str, config: Config, request: LetterRequest) -> dict[str, Any]:
        with self._opened(config) as connector:
            self._check(connector, request)
            if request.dry_run:
                plan = self._redrive(connector, request).plan()
                return {"dry_run": True, "action": request.action.value, "counts": plan.counts.to_json()}
        job = RedriveJob(name, request, self._worker_id, self._clock_ms)
        self._jobs[name] = job

        def create() -> Redrive:
            with self._opened(config) as connector:
                return self._redrive(connector, request)

        job.start(create)
        return job.to_json()

    @contextmanager
    def _opened(self, config: Config) -> Iterator[_Connector]:
        resolved = self._configs.resolve_connector(config)
        with resolved.hidden_errors():
            known = resolved.properties
            try:
                topic = LetterTopic(self._worker.config, known)
            except NoDeadLettersError as error:
                raise NotFoundError(str(error)) from error
            yield _Connector(resolved, known, self._worker.connector_type(config) == "source", topic)

    def _check(self, connector: _Connector, request: LetterRequest) -> None:
        """Raise BadRequestError or ConfigError for a request that no letter could be served by."""
        if request.to_topic == connector.topic.topic:
            raise BadRequestError(f"to_topic {request.to_topic} is the dead letter topic itself")
        if request.to_topic is not None and not connector.topic.partitions(request.to_topic):
            raise BadRequestError(f"to_topic {request.to_topic} does not exist")
        for name in request.config or ():
            if not name.startswith(_EDITABLE):
                raise BadRequestError(
                    f"Property {name} cannot be edited for a redrive; those that can begin with {', '.join(_EDITABLE)}"
                )
        if not connector.is_source and request.action is Action.REDRIVE:
            self._check_cluster(connector)

    def _check_cluster(self, connector: _Connector) -> None:
        """Raise BadRequestError for a sink whose topics and dead letters are in two Kafka clusters."""
        consumer = client_configs.sink_task_consumer(self._worker.config, connector.config, 0)
        here, there = connector.topic.props["bootstrap.servers"], consumer["bootstrap.servers"]
        if here != there:
            raise BadRequestError(
                f"The connector reads from {there} and writes its dead letters to {here}: a redrive is one transaction,"
                " which cannot be in two Kafka clusters"
            )

    def _redrive(self, connector: _Connector, request: LetterRequest) -> Redrive:
        producer = client_configs.redrive_producer(self._worker.config, connector.config)
        redriver, quoted = self._redriver(connector, request)
        named = named_only(redriver, self._sharing(connector))
        return Redrive(connector.topic, request, named, producer, self._closed.is_set, quoted.hide)

    def _sharing(self, connector: _Connector) -> list[str]:
        """Return the other connectors of the cluster that have the same dead letter topic."""
        topic = connector.topic
        return sorted(
            name
            for name, config in self._connector_configs().items()
            if name != topic.connector and (config.get(DLQ_TOPIC) or "").strip() == topic.topic
        )

    def _redriver(self, connector: _Connector, request: LetterRequest) -> tuple[Redriver, ResolvedConfig]:
        """Return the redriver, and the configuration whose values its errors may quote."""
        if request.action is Action.DISCARD:
            return lambda letters: [Outcome()] * len(letters), connector.resolved
        if not connector.is_source and request.config is None:
            reads, to_topic = SinkConnectorConfig(connector.config).reads, request.to_topic
            return lambda letters: [original_record(each, to_topic, reads) for each in letters], connector.resolved
        edited = self._edited(connector, request)
        spec = {
            "worker": dict(self._worker.config.raw),
            "connector": edited.properties,
            "writer": edited.properties if connector.is_source else connector.config,
            "source": connector.is_source,
            "to_topic": request.to_topic,
        }
        return (
            lambda letters: [outcome for chunk in _chunks(letters) for outcome in self._converted(spec, chunk)],
            connector.resolved.along_with(edited),
        )

    def _edited(self, connector: _Connector, request: LetterRequest) -> ResolvedConfig:
        """Return the configuration that reads and transforms letters.

        A sink transforms the record again when it gets it: only transformations of the edit apply to its letters.
        """
        # With references: a value that looks like one must not be looked up, too.
        base = {name: text for name, text in connector.resolved.given.items() if text is not None}
        if not connector.is_source:
            base = {name: text for name, text in base.items() if not name.startswith((TRANSFORMS, PREDICATES))}
        edit = request.config or {}
        # A part that the edit names is the edit's alone: none of the former one's properties stay.
        replaced = tuple(f"{name}." for name in _EDITABLE if name in edit)
        base = {name: text for name, text in base.items() if not replaced or not name.startswith(replaced)}
        return self._configs.resolve_connector({**base, **edit})

    def _converted(self, spec: Mapping[str, Any], letters: Sequence[Letter]) -> Sequence[Outcome]:
        whole = {**spec, "letters": [letter_to_json(letter) for letter in letters]}
        items = self._run("redrive of dead letters", whole)
        if len(items) != len(letters):
            raise ConnectError(f"{len(letters)} dead letters were to be transformed, {len(items)} were")
        return [outcome_from_json(item) for item in items]

    def _decoded(self, connector: _Connector, letters: Sequence[Letter]) -> list[dict[str, Any]]:
        """Return the letters' records in the form of ``decoded_record``; without their values if no converter can."""
        if not letters:
            return []
        spec = {
            "worker": dict(self._worker.config.raw),
            "connector": connector.config,
            "source": connector.is_source,
            "letters": [letter_to_json(letter) for letter in letters],
        }
        try:
            items = self._run("decoding of dead letters", spec)
        except ConnectError as error:
            reason = connector.resolved.hide(error_text(error))
            log.warning("Dead letters of connector %s cannot be decoded: %s", connector.topic.connector, reason)
            items = []
        bytes_only = RecordDecoder()
        items = [hide_in_errors(item, connector.resolved.hide) for item in items]
        return [*items, *(bytes_only.decode(original(letter)) for letter in letters[len(items) :])]

    def _run(self, job: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run a job in the sandbox; wait a while if that is busy, or starts no process."""
        deadline = Deadline.after(_BUSY_S)
        while True:
            try:
                return self._sandbox.run(job, spec, _BATCH_TIMEOUT_S, cancel=self._closed.is_set)
            except (SandboxBusyError, SandboxStartError) as error:
                if deadline.expired:
                    raise
                if self._closed.wait(_BUSY_RETRY_S):
                    raise SandboxCancelledError(f"The {job} was cancelled", []) from error


def _chunks(letters: Sequence[Letter]) -> Iterator[list[Letter]]:
    """Yield the letters in lists of a size that fits into a job."""
    chunk: list[Letter] = []
    size = 0
    for letter in letters:
        chunk.append(letter)
        size += len(letter.record.key or b"") + len(letter.record.value or b"")
        if size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
