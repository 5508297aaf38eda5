# SPDX-License-Identifier: Apache-2.0
"""Traces by OpenTelemetry's SDK, sent by OTLP over HTTP from a thread of the SDK's.

One log line says when they cannot be sent, and one when they can again, in place of the SDK's own lines about it. Other
lines of the SDK are logged once each.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from opentelemetry import propagate
from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headrace import __version__
from headrace.telemetry.tracing import Attributes, Span, SpanKind

log = logging.getLogger(__name__)
_SERVICE: Final = "headrace"
_SDK: Final = "opentelemetry"
_NO_LINES: Final = logging.NullHandler()
"""Without any handler, Python would print the SDK's warnings."""
_MOST_LINES: Final = 100
"""Lines of the SDK's that are logged."""
_CONTEXTS: Final = TraceContextTextMapPropagator()
_KINDS: Final = {kind: otel.SpanKind[kind.value] for kind in SpanKind}


class OtlpTracing:
    """``Tracing`` as the standard variables configure it: exporter, sampler, limits, service name, resource."""

    def __init__(self, instance: str) -> None:
        own = {"service.name": _SERVICE, "service.version": __version__, "service.instance.id": instance}
        resource = Resource.create({**own, **OTELResourceDetector().detect().attributes})
        self._reports = ExportReports()
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self.provider.add_span_processor(BatchSpanProcessor(ReportingExporter(OTLPSpanExporter(), self._reports)))
        self._tracer = self.provider.get_tracer(_SERVICE, __version__)

    def begin(
        self, name: str, attributes: Attributes | None = None, *, kind: SpanKind = SpanKind.INTERNAL, ago: float = 0.0
    ) -> Span:
        began = time.time_ns() - int(ago * 1e9)
        return _OtlpSpan(self._tracer.start_span(name, None, _KINDS[kind], dict(attributes or {}), start_time=began))

    def outgoing_headers(self) -> Mapping[str, str]:
        headers: dict[str, str] = {}
        propagate.inject(headers)
        return headers

    def close(self, timeout: float) -> None:
        # While the collector cannot be reached there is nothing to wait for; and the SDK waits longer than it is asked.
        thread = threading.Thread(target=self._shut_down, name="traces-close", daemon=True)
        thread.start()
        if not self._reports.failing:
            thread.join(timeout)

    def _shut_down(self) -> None:
        self.provider.shutdown()
        self._reports.detach()


class _OtlpSpan:
    def __init__(self, span: otel.Span) -> None:
        self._span = span

    @property
    def recording(self) -> bool:
        return self._span.is_recording()

    def link(self, traceparents: Iterable[str]) -> None:
        for text in traceparents:
            context = _CONTEXTS.extract({"traceparent": text}, Context())
            linked = otel.get_current_span(context).get_span_context()
            if linked.is_valid:
                self._span.add_link(linked)

    def end(self, attributes: Attributes | None = None, error_type: str | None = None) -> None:
        if attributes:
            self._span.set_attributes(dict(attributes))
        if error_type is not None:
            self._span.set_attribute("error.type", error_type)
            self._span.set_status(otel.StatusCode.ERROR)
        self._span.end()


class ExportReports(logging.Handler):
    """Takes the SDK's lines, of which those from within an export show why it fails. Any thread."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failing = False
        """True from a failure until a batch is sent."""
        self._exporting: int | None = None
        self._passed_on: set[str] = set()
        logger = logging.getLogger(_SDK)
        logger.addHandler(self)
        logger.addHandler(_NO_LINES)
        logger.propagate = False

    def detach(self) -> None:
        """Take no more lines: the process may go on with other tasks."""
        logging.getLogger(_SDK).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.thread == self._exporting:
            self.failed(text)
        elif text not in self._passed_on and len(self._passed_on) < _MOST_LINES:
            self._passed_on.add(text)
            log.log(record.levelno, "OpenTelemetry: %s", text)

    @contextmanager
    def exporting(self) -> Iterator[None]:
        """Take the lines of this thread, meanwhile, for those of an export, which are warnings of failed attempts."""
        self._exporting = threading.get_ident()
        try:
            yield
        finally:
            self._exporting = None

    def failed(self, reason: str) -> None:
        """Report that a batch could not be sent, or that an attempt to send it has failed."""
        if not self.failing:
            self.failing = True
            log.warning("Traces cannot be sent now; they are kept for some seconds, then dropped: %s", reason)

    def sent(self) -> None:
        """Report that a batch was sent."""
        if self.failing:
            self.failing = False
            log.info("Traces are sent again")


class ReportingExporter(SpanExporter):
    """An exporter that reports what it has sent, and what it has not. On the SDK's thread."""

    def __init__(self, exporter: SpanExporter, reports: ExportReports) -> None:
        self._exporter = exporter
        self._reports = reports

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with self._reports.exporting():
            result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._reports.sent()
        else:
            self._reports.failed("the collector has not taken them")
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)
