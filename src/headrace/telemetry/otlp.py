# SPDX-License-Identifier: Apache-2.0
"""Traces by OpenTelemetry's SDK, sent by OTLP over HTTP from a thread of the SDK's."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry import propagate
from opentelemetry import trace as otel
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from headrace import __version__
from headrace.telemetry.export_reports import ExportReports, ReportingExporter
from headrace.telemetry.tracing import Attributes, Span, SpanKind

_SERVICE: Final = "headrace"
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
        thread = threading.Thread(target=self.provider.shutdown, name="traces-close", daemon=True)
        thread.start()
        if not self._reports.failing:
            thread.join(timeout)


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
