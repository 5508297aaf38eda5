# SPDX-License-Identifier: Apache-2.0
"""Traces: off they cost nothing, on they never wait; and what of a batch's headers makes its links."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator

import pytest

from headrace.api.errors import ConfigError, RetriableError
from headrace.broker.free_port import free_port
from headrace.model.ids import ConnectorTaskId
from headrace.task.sink.observed_batches import TracedSinkBatches
from headrace.task.sink.sink_batch import SinkBatch
from headrace.telemetry import tracing
from headrace.telemetry.tracing import NO_TRACING, Attributes, SpanKind, create_tracing, traceparents
from tests.support.polling import wait_for

FIRST, SECOND = (f"00-{digit * 32}-{digit * 16}-01" for digit in "12")


@pytest.fixture(autouse=True)
def sdk_logger() -> Iterator[None]:
    """Takes off the handlers of the tests before."""
    logger = logging.getLogger("opentelemetry")
    before, propagate = logger.handlers[:], logger.propagate
    yield
    logger.handlers[:], logger.propagate = before, propagate


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "headrace.telemetry.otlp"]


def test_the_contexts_of_a_batch_are_its_different_ones_in_order():
    def record(value: str | None, *before: tuple[str, bytes | None]) -> list[tuple[str, bytes | None]]:
        return [*before, ("traceparent", None if value is None else value.encode()), ("traceparent", b"later")]

    headers = [None, [], record(FIRST, ("a", b"b")), record(f'"{SECOND}"'), record(FIRST), record("x" * 65)]
    assert traceparents(headers) == [FIRST, SECOND, "later"]
    assert traceparents([record(str(number)) for number in range(100)]) == [str(number) for number in range(32)]


def test_without_traces_nothing_of_the_sdk_is_imported():
    code = (
        "import sys, headrace.cli.distributed, headrace.distributed.assembly, headrace.rest.app\n"
        "import headrace.spark.process.executor_entry\n"
        "from headrace.telemetry.tracing import NO_TRACING, create_tracing\n"
        "assert create_tracing('none', 'me') is create_tracing(None, 'me') is NO_TRACING\n"
        "found = [name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))]\n"
        "assert found == [], found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert NO_TRACING.begin("any").recording is False
    assert NO_TRACING.outgoing_headers() == {}


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "headrace.telemetry.otlp", None)
    with pytest.raises(ConfigError, match=r"telemetry\.traces.*install headrace with the extra 'otel'"):
        create_tracing("otlp", "me")


def test_a_collector_that_is_not_there_is_logged_once_and_never_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    caplog.set_level(logging.INFO)
    traces = create_tracing("otlp", "me")
    began = time.monotonic()
    for number in range(5_000):
        span = traces.begin("any", {"number": number}, ago=0.5)
        span.link([FIRST, "not a context"])
        span.end(error_type="KeyError")
    assert time.monotonic() - began < 30
    wait_for(lambda: "Traces cannot be sent now" in caplog.text, 20, "the line")
    began = time.monotonic()
    traces.close(30)
    assert time.monotonic() - began < 5
    assert {record.name for record in caplog.records} == {"headrace.telemetry.otlp"}
    assert [line.partition(":")[0] for line in lines(caplog) if "Queue full" not in line] == [
        "Traces cannot be sent now; they are kept for some seconds, then dropped"
    ]


def test_warnings_of_the_sdk_about_other_things_are_no_failed_export(caplog: pytest.LogCaptureFixture) -> None:
    """The full queue, a limit, a variable that is not valid: traces are sent all the same."""
    from headrace.telemetry.otlp import ExportReports

    caplog.set_level(logging.INFO)
    reports = ExportReports()
    for name in ("opentelemetry.sdk._shared_internal", "opentelemetry.exporter.otlp.proto.http"):
        for _ in range(3):
            logging.getLogger(name).warning("Queue full, dropping %s.", "Span")
    assert reports.failing is False
    assert lines(caplog) == ["OpenTelemetry: Queue full, dropping Span."]
    reports.sent()
    assert len(lines(caplog)) == 1


def test_a_batch_that_was_not_sent_is_a_failed_export(caplog: pytest.LogCaptureFixture) -> None:
    from opentelemetry.sdk.trace.export import SpanExportResult

    from headrace.telemetry.otlp import ExportReports, ReportingExporter

    caplog.set_level(logging.INFO)
    results = [SpanExportResult.FAILURE, SpanExportResult.FAILURE, SpanExportResult.SUCCESS, SpanExportResult.FAILURE]

    class Exporter:
        """The first batch fails with a line, the others without one."""

        def export(self, spans: object) -> SpanExportResult:
            if len(results) == 4:
                logging.getLogger("opentelemetry.exporter.otlp").warning("Transient error, retrying")
            return results.pop(0)

    reports = ExportReports()
    exporter = ReportingExporter(Exporter(), reports)  # type: ignore[arg-type]
    failing = []
    for _ in range(4):
        exporter.export([])
        failing.append(reports.failing)
    assert failing == [True, True, False, True]
    first, again, last = lines(caplog)
    assert first.startswith("Traces cannot be sent now") and first.endswith("Transient error, retrying")
    assert again == "Traces are sent again"
    assert last.startswith("Traces cannot be sent now") and last.endswith("the collector has not taken them")


class Span:
    def __init__(self, recording: bool) -> None:
        self.recording = recording
        self.links: list[str] = []
        self.ended: tuple[object, object] | None = None

    def link(self, traceparents: Iterable[str]) -> None:
        self.links += traceparents

    def end(self, attributes: Attributes | None = None, error_type: str | None = None) -> None:
        self.ended = (dict(attributes or {})["messaging.batch.message_count"], error_type)


class Traces(tracing.NoTracing):
    """Hands out a span for each of the given decisions."""

    def __init__(self, *sampled: bool) -> None:
        self.spans = [Span(recording) for recording in sampled]
        self.left = list(self.spans)

    def begin(
        self, name: str, attributes: Attributes | None = None, *, kind: SpanKind = SpanKind.INTERNAL, ago: float = 0.0
    ) -> Span:
        return self.left.pop(0)


class Messages:
    """Messages whose headers count how often they are read."""

    read = 0

    @property
    def headers(self) -> list[list[tuple[str, bytes]]]:
        self.read += 1
        return [[("traceparent", FIRST.encode())]]


class Batches:
    """Puts, or fails."""

    error: Exception | None = None

    def convert(self, messages: object) -> SinkBatch:
        return SinkBatch([None])  # type: ignore[list-item]

    def put(self, batch: SinkBatch) -> None:
        if self.error is not None:
            raise self.error


def test_headers_are_read_of_sampled_batches_alone():
    inner, messages, traces = Batches(), Messages(), Traces(False, True, True)
    traced = TracedSinkBatches(inner, traces, ConnectorTaskId("c", 0), "connect-c")  # type: ignore[arg-type]
    batch = traced.convert(messages)  # type: ignore[arg-type]
    traced.put(batch)
    assert messages.read == 0
    traced.put(batch)
    inner.error = RetriableError("later")
    with pytest.raises(RetriableError):
        traced.put(batch)
    assert [span.links for span in traces.spans] == [[], [FIRST], [FIRST]]
    assert [span.ended for span in traces.spans] == [(1, None), (1, None), (1, "RetriableError")]
    inner.error = None
    traced.put(SinkBatch())
    assert traces.left == []
