# SPDX-License-Identifier: Apache-2.0
"""SingerSource: the streams of a tap of Singer as records."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace import __version__
from headrace.api.config_def import ConfigDef, ConfigValue
from headrace.api.connector import Task
from headrace.api.errors import ConfigError, ConnectError, DataError, RetriableError
from headrace.api.record import SourceRecord
from headrace.api.source import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector, SourceTask
from headrace.connectors.singer.child import Child, Wake
from headrace.connectors.singer.child_runs import ErrorLog, ending
from headrace.connectors.singer.commands import TAP, add_error, check_one_command, name_of
from headrace.connectors.singer.error_lines import TapMetrics
from headrace.connectors.singer.held_records import (
    ALL_STREAMS,
    STATE,
    STREAMS,
    HeldRecords,
    HoldLimits,
    source_partition,
)
from headrace.connectors.singer.messages import (
    ActivateVersionMessage,
    RecordMessage,
    SchemaMessage,
    StateMessage,
    parse_message,
    parse_state,
)
from headrace.connectors.singer.singer_source_config import (
    APART,
    CONFIG_DEF,
    EXACTLY_ONCE,
    HELD_BYTES,
    HELD_RECORDS,
    INTERVAL,
    RETRIES,
    TOMBSTONES,
    VERSION_FIELD,
    VERSIONS_TOPIC,
    SourceConfig,
)
from headrace.connectors.singer.streams import Streams
from headrace.connectors.singer.tap_runs import TapRuns
from headrace.connectors.singer.tombstones import StoppedError, Tombstones

log = logging.getLogger(__name__)

SHARE: Final = "task.streams"
"""The property of a task's configuration with its streams, as JSON; ``*`` is all of them by one run."""
_LONGEST_WAIT: Final = 0.5
_LONGEST_BACKOFF: Final = 60.0
_TOMBSTONE_BYTES: Final = 100
"""The share of a tombstone in singer.held.bytes."""


class SingerSourceConnector(SourceConnector):
    """One task for all streams of a tap, or, with `streams.apart`, tasks that share its streams."""

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)
        self._config = SourceConfig.parse(props)

    def task_class(self) -> type[Task]:
        return SingerSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        streams = [ALL_STREAMS]
        if self._config.values[APART]:
            streams = TapRuns(self._config, Wake()).streams()
        shares = [streams[task::max_tasks] for task in range(min(max_tasks, len(streams)))]
        return [{**self._props, SHARE: json.dumps(share)} for share in shares]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return CONFIG_DEF

    def validate(self, configs: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(configs)
        if not any(value.error_messages for value in values):
            try:
                check_one_command(SourceConfig.parse(configs).values, TAP)
            except ConfigError as error:
                add_error(values, error)
        return values

    def exactly_once_support(self, props: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Return SUPPORTED if the user asserts it; otherwise it is not known."""
        return ExactlyOnceSupport.SUPPORTED if CONFIG_DEF.parse(props)[EXACTLY_ONCE] else None

    def can_define_transaction_boundaries(self, props: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return SUPPORTED: transactions end at STATEs."""
        return ConnectorTransactionBoundaries.SUPPORTED

    def alter_offsets(
        self, connector_config: Mapping[str, str], offsets: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]
    ) -> bool:
        """Refuse offsets that no run can start from. A reset (None) is allowed for any partition."""
        values = SourceConfig.parse(connector_config).values
        tap = name_of(values, TAP)
        streams = "the name of a stream" if values[APART] else f"'{ALL_STREAMS}'"
        for partition, offset in offsets:
            if offset is None:
                continue
            name = partition.get(STREAMS)
            fits = isinstance(name, str) and (name != ALL_STREAMS if values[APART] else name == ALL_STREAMS)
            if not fits or partition != source_partition(tap, str(name)):
                wanted = f"{{'{TAP}': '{tap}', '{STREAMS}': …}} with {streams}"
                raise ConnectError(f"There is no source partition {partition}; it has to be {wanted}")
            _state_of(offset)
        return True


def _state_of(offset: Mapping[str, Any] | None) -> str | None:
    """Return the STATE of a source offset. Raise ConnectError if it has none."""
    if offset is None:
        return None
    text = offset.get(STATE)
    if not isinstance(text, str) or len(offset) != 1:
        raise ConnectError(f"An offset has to be {{'{STATE}': JSON text of a STATE's value}}, not {offset}")
    try:
        parse_state(text)
    except DataError as error:
        raise ConnectError(f"The value for the '{STATE}' key in the offset is not valid: {error}") from error
    return text


@dataclass(slots=True)
class _Share:
    """The streams that one run reads: one, or all; ``due`` is the time of the next run."""

    streams: str
    held: HeldRecords
    due: float = 0.0
    failures: int = 0


class SingerSourceTask(SourceTask):
    """Reads its streams by runs of the tap, one after the other, each from the last STATE."""

    def __init__(self) -> None:
        self._wake = Wake()
        self._child: Child | None = None
        self._failure: ConnectError | None = None
        self._aborts = False
        self._tombstones: Tombstones | None = None

    def version(self) -> str:
        return __version__

    def start(self, props: Mapping[str, str]) -> None:
        self._config = SourceConfig.parse(props)
        values = self._config.values
        self._runs = TapRuns(self._config, self._wake)
        connector = props.get("name", "") if values[TOMBSTONES] else None
        self._streams = Streams(self._config.topics, self._config.choices, values[VERSION_FIELD], connector)
        if connector is not None:
            read, stopping = self.context.read_topic, self._wake.woken
            self._tombstones = Tombstones(connector, self._streams, read, stopping)
        self._versions_topic: str | None = values[VERSIONS_TOPIC]
        self._transactions = self.context.transaction_context
        self._exactly_once: bool = values[EXACTLY_ONCE]
        strict = self._exactly_once and self._transactions is None
        limits = HoldLimits(values[HELD_RECORDS], values[HELD_BYTES], strict)
        self._shares = [self._share(name, limits) for name in json.loads(props.get(SHARE) or f'["{ALL_STREAMS}"]')]
        self._current = self._shares[0]
        self._version_logged = False
        metrics = self.context.plugin_metrics()
        self._run_count = metrics.counter("tap-runs-total", "Runs of the tap")
        self._failure_count = metrics.counter("tap-failed-runs-total", "Runs of the tap that have failed")
        self._measured = TapMetrics(metrics)

    def poll(self) -> list[SourceRecord] | None:
        """Return the records that a STATE has released meanwhile."""
        if self._wake.woken():
            self._close()
            if self._tombstones is not None:
                self._tombstones.close()
            return None
        self._raise_failure()
        try:
            if self._child is not None or self._begin():
                self._read()
        except StoppedError:
            return None
        except ConnectError as error:
            if not self._wake.woken():
                self._fail(error)
        released = self._released()
        if not released and not self._aborts:
            self._raise_failure()
        self._aborts = False
        return released

    def stop(self) -> None:
        self._wake.wake()
        if (child := self._child) is not None:
            child.end()

    def _share(self, streams: str, limits: HoldLimits) -> _Share:
        partition = source_partition(self._runs.name, streams)
        state = _state_of(self.context.offset_storage_reader.offset(partition))
        return _Share(streams, HeldRecords(partition, state, limits))

    def _begin(self) -> bool:
        """Start the run that is due; False, after a wait, if there is none."""
        share = min(self._shares, key=lambda each: each.due)
        left = share.due - time.monotonic()
        if left > 0:
            self._wake.wait(min(left, _LONGEST_WAIT))
            return False
        self._current = share
        self._run_count.add()
        self._child = self._runs.start(share.streams, share.held.state)
        if self._tombstones is not None:
            self._tombstones.begin_run()
        self._errors = ErrorLog(self._runs.name, self._measured.add)
        return True

    def _read(self) -> None:
        """Take what the tap has written meanwhile. Raise ConnectError if that, or its end, is a failure."""
        child = self._child
        assert child is not None
        if not self._has_tombstones():
            child.pump(0.0 if child.lines else _LONGEST_WAIT)
            self._errors.log(child)
        while child.lines and not self._has_tombstones():
            self._take(child.lines.popleft())
        self._add_tombstones()
        if child.code is not None and not child.lines and not self._has_tombstones() and not self._wake.woken():
            self._finish(child)

    def _take(self, line: bytes) -> None:
        held = self._current.held
        match parse_message(line):
            case RecordMessage() as message:
                held.add(self._streams.record(message), len(line))
                if self._tombstones is not None:
                    self._tombstones.note(message)
            case StateMessage(text):
                if text != held.state:
                    self._current.failures = 0
                held.cover(text)
            case SchemaMessage() as message:
                self._streams.announce(message)
            case ActivateVersionMessage() as message:
                self._activate(message, len(line))

    def _activate(self, message: ActivateVersionMessage, size: int) -> None:
        held = self._current.held
        if self._versions_topic is not None:
            held.add(self._streams.activation(message, self._versions_topic), size)
        if self._tombstones is not None:
            self._tombstones.activate(message, held.pending)
        if self._versions_topic is None and self._tombstones is None and not self._version_logged:
            self._version_logged = True
            advice = f"set {TOMBSTONES}, or {VERSIONS_TOPIC} and {VERSION_FIELD}, to find rows that are gone"
            log.info("Tap %s sends ACTIVATE_VERSION, which has no effect: %s", self._runs.name, advice)

    def _has_tombstones(self) -> bool:
        """Return True if tombstones come before all else that the tap has written."""
        return self._tombstones is not None and self._tombstones.due

    def _add_tombstones(self) -> None:
        if self._tombstones is not None and self._tombstones.due:
            for tombstone in self._tombstones.take():
                self._current.held.add(tombstone, _TOMBSTONE_BYTES)

    def _finish(self, child: Child) -> None:
        if child.code:
            raise RetriableError(f"tap {self._runs.name} {ending(child)}")
        held = self._current.held
        if held.waiting and self._exactly_once:
            raise ConnectError(
                f"tap {self._runs.name} has ended with {held.waiting} records, or more, after its last STATE, which "
                "the next run would read again: with singer.exactly.once=true it has to write a STATE at its end"
            )
        if self._tombstones is not None and self._tombstones.end_run(held.pending):
            return
        held.release_all()
        self._close()
        self._current.due = time.monotonic() + self._config.values[INTERVAL] / 1000
        self._current.failures = 0

    def _fail(self, error: ConnectError) -> None:
        """End the run; what waits for a STATE is read again by the next one."""
        self._close()
        share = self._current
        self._failure_count.add()
        # What was sent before its STATE, and was not committed, must not be visible twice.
        self._aborts = share.held.uncovered and self._transactions is not None
        share.held.drop()
        share.failures += 1
        share.due = time.monotonic() + min(2.0 ** (share.failures - 1), _LONGEST_BACKOFF)
        if isinstance(error, RetriableError):
            retries = self._config.values[RETRIES]
            if share.failures > retries:
                error = ConnectError(f"{error} (run {share.failures} in a row that failed; singer.retries={retries})")
        elif isinstance(error, DataError):
            error = ConnectError(f"tap {self._runs.name}: {error}")
        self._failure = error

    def _released(self) -> list[SourceRecord] | None:
        released = self._current.held.take()
        if self._transactions is not None:
            for end in released.ends:
                self._transactions.commit_transaction(end)
            if self._aborts:
                self._transactions.abort_transaction()
        if self._tombstones is not None:
            self._tombstones.sent(released.records)
            if self._aborts:
                self._tombstones.forget()
        return list(released.records) or None

    def _raise_failure(self) -> None:
        error, self._failure = self._failure, None
        if error is not None:
            raise error

    def _close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
