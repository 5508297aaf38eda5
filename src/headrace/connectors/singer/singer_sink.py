# SPDX-License-Identifier: Apache-2.0
"""SingerSink: records for a target of Singer."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from headrace import __version__
from headrace.api.config_def import ConfigDef, ConfigValue, Importance, Type
from headrace.api.connector import Task
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.api.record import SinkRecord
from headrace.api.sink import OffsetAndMetadata, SinkConnector, SinkTask, TopicPartition
from headrace.api.validators import NonEmptyString, Nullable, Range, ValidString
from headrace.connectors.singer.child import Child, Wake
from headrace.connectors.singer.child_runs import ErrorLog, ending, start_child
from headrace.connectors.singer.commands import (
    COMMAND,
    CONFIG,
    LINE_BYTES,
    TARGET,
    add_error,
    check_one_command,
    command_of,
    config_text,
    name_of,
    shared,
)
from headrace.connectors.singer.target_messages import TargetStreams, acknowledged, state_line

log = logging.getLogger(__name__)

FLUSH: Final = "singer.flush"
FLUSH_TIMEOUT: Final = "singer.flush.timeout.ms"
RETRIES: Final = "singer.retries"
TOMBSTONES: Final = "singer.tombstones"
STREAMS: Final = "topic.streams"
_BY_END: Final = "end"
_MOST_UNWRITTEN: Final = 1 << 20
_STEP: Final = 0.5

CONFIG_DEF: Final = (
    ConfigDef()
    .define_key(
        shared(COMMAND, "The target's command line. The worker's singer.commands.allowed has to have the program.")
    )
    .define(
        TARGET,
        Type.STRING,
        None,
        importance=Importance.HIGH,
        validator=NonEmptyString(),
        doc="The name of a target that headrace singer install has installed; in place of singer.command.",
    )
    .define_key(shared(CONFIG))
    .define(
        FLUSH,
        Type.STRING,
        _BY_END,
        importance=Importance.HIGH,
        validator=ValidString(_BY_END, "state"),
        doc="When offsets are committed: end ends the target's input, which has it write everything, and waits for "
        "its end; state takes what it has acknowledged meanwhile, and leaves it running.",
    )
    .define(
        FLUSH_TIMEOUT,
        Type.LONG,
        "120000",
        validator=Nullable(Range.at_least(1)),
        doc="The longest wait for the target: for its end, and for it to read, in ms. Less than max.poll.interval.ms.",
    )
    .define(
        RETRIES,
        Type.INT,
        "5",
        validator=Nullable(Range.at_least(0)),
        doc="The number of failed flushes in a row after which the records are written again.",
    )
    .define(
        TOMBSTONES,
        Type.STRING,
        "fail",
        validator=ValidString("fail", "ignore"),
        doc="What becomes of records without a value, which Singer does not have.",
    )
    .define(STREAMS, Type.LIST, "", doc="The streams of some topics, each as topic:stream.")
    .define_key(shared(LINE_BYTES))
)


class SingerSinkConnector(SinkConnector):
    """As many tasks as allowed, each with a target of its own."""

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return SingerSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._props] * max_tasks

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(configs)
        if not any(value.error_messages for value in values):
            try:
                parsed = CONFIG_DEF.parse(configs)
                check_one_command(parsed, TARGET)
                _names(parsed[STREAMS] or [])
            except ConfigError as error:
                add_error(values, error)
        return values

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept any offsets: the target holds none."""
        return True


def _names(pairs: Sequence[str]) -> dict[str, str]:
    names = {}
    for pair in pairs:
        topic, colon, stream = pair.partition(":")
        if not (topic and colon and stream):
            raise ConfigError.invalid(STREAMS, list(pairs), f"'{pair}' is not of the form topic:stream")
        names[topic] = stream
    return names


def _origin(record: SinkRecord) -> TopicPartition:
    assert record.original_kafka_partition is not None
    return TopicPartition(record.original_topic, record.original_kafka_partition)


class SingerSinkTask(SinkTask):
    """Writes records to a target; commits offsets that the target has returned, or with which it has ended."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._failures = 0
        self._fatal: ConnectError | None = None
        self._acknowledged: dict[TopicPartition, OffsetAndMetadata] = {}
        self._unflushed: set[TopicPartition] = set()
        self._tombstone_logged = False

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._values = CONFIG_DEF.parse(props)
        self._names = _names(self._values[STREAMS] or [])
        self._command = command_of(self._values, TARGET)
        self._settings = config_text(self._values[CONFIG])
        self._target = name_of(self._values, TARGET)
        self._timeout: float = self._values[FLUSH_TIMEOUT] / 1000

    def put(self, records: Collection[SinkRecord]) -> None:
        if self._fatal is not None:
            raise self._fatal
        ran = self._child is not None
        try:
            for record in records:
                if lines := self._lines(record):
                    self._running().write("".join(f"{line}\n" for line in lines).encode())
                    self._unflushed.add(_origin(record))
                    self._drain(_MOST_UNWRITTEN)
            if self._child is not None:
                self._pump(self._child, 0)
        except ConnectError as error:
            if ran and self._child is None:
                # What former calls have written is lost with the target: its offsets must not be committed.
                self._fatal = error
            raise

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets up to which the target has written everything."""
        if self._child is None:  # nothing was written to it since it has ended well
            return current_offsets if self._fatal is None else {}
        unflushed = set(self._unflushed)
        try:
            self._child.write(f"{state_line(current_offsets)}\n".encode())
            self._drain(0)
            if self._values[FLUSH] == _BY_END:
                self._end_target()
        except ConnectError as error:
            self._close()
            self._failures += 1
            if not unflushed <= current_offsets.keys():
                # The runtime rewinds only partitions that it asks about: what others have put here is lost.
                self._fatal = ConnectError(str(error))
            elif self._failures > self._values[RETRIES]:
                text = f"{error} (flush {self._failures} in a row that failed; {RETRIES}={self._values[RETRIES]})"
                self._fatal = ConnectError(text)
            raise
        self._failures = 0
        known = {each: self._acknowledged[each] for each in current_offsets if each in self._acknowledged}
        return {each: place for each, place in known.items() if place.offset <= current_offsets[each].offset}

    def close(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._acknowledged.pop(partition, None)
            self._unflushed.discard(partition)

    def stop(self) -> None:
        child = self._child
        if child is None:
            return
        try:
            child.close_input()
            self._await_end(child)
        except ConnectError as error:
            log.warning("%s", error)
        finally:
            self._close()

    def _lines(self, record: SinkRecord) -> list[str]:
        place = f"{_origin(record)} at offset {record.original_kafka_offset}"
        if record.value is None:
            if self._values[TOMBSTONES] == "fail":
                return self._refused(record, DataError(f"The record of {place} is a tombstone ({TOMBSTONES}=fail)"))
            if not self._tombstone_logged:
                self._tombstone_logged = True
                log.warning("Tombstones are ignored (%s=ignore), the first one that of %s", TOMBSTONES, place)
            return []
        self._running()
        try:
            return self._streams.lines(record)
        except DataError as error:
            return self._refused(record, DataError(f"The record of {place} cannot be written: {error}"))

    def _refused(self, record: SinkRecord, error: DataError) -> list[str]:
        reporter = self.context.errant_record_reporter
        if reporter is None:
            raise error
        reporter.report(record, error)
        return []

    def _running(self) -> Child:
        if self._child is None:
            options = {"config": "--config"}
            self._child = start_child(
                self._command, {"config": self._settings}, options, (), Wake(), self._values[LINE_BYTES]
            )
            self._streams = TargetStreams(self._names)
            self._errors = ErrorLog(self._target)
            self._acknowledged.clear()
        return self._child

    def _drain(self, most: int) -> None:
        """Wait until the target has read all but so many bytes. Raise ConnectError if it reads no more, or ends."""
        child = self._running()
        deadline, before = time.monotonic() + self._timeout, child.unwritten
        while child.unwritten > most:
            self._pump(child, _STEP)
            if child.unwritten != before:
                deadline, before = time.monotonic() + self._timeout, child.unwritten
            elif time.monotonic() > deadline:
                self._close()
                raise ConnectError(f"target {self._target} has read nothing for {self._timeout:g} s ({FLUSH_TIMEOUT})")

    def _pump(self, child: Child, seconds: float) -> None:
        child.pump(seconds)
        self._take(child)
        if child.code is not None:
            self._close()
            raise ConnectError(f"target {self._target} {ending(child)}")

    def _take(self, child: Child) -> None:
        self._errors.log(child)
        while child.lines:
            self._acknowledged.update(acknowledged(child.lines.popleft()))

    def _end_target(self) -> None:
        """End the target's input, and wait for its end. Raise ConnectError unless it ends well with a STATE."""
        child = self._running()
        child.close_input()
        self._await_end(child)
        self._close()
        if child.code != 0:
            raise RetriableError(f"target {self._target} {ending(child)}")
        if not self._acknowledged:
            raise ConnectError(
                f"target {self._target} has ended without a STATE on its standard output, so that nothing says that it "
                "has written the records: use another target"
            )

    def _await_end(self, child: Child) -> None:
        deadline = time.monotonic() + self._timeout
        while child.code is None:
            if time.monotonic() > deadline:
                raise RetriableError(
                    f"target {self._target} has not ended {self._timeout:g} s after its input ({FLUSH_TIMEOUT})"
                )
            child.pump(_STEP)
            self._take(child)

    def _close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
            self._unflushed.clear()
