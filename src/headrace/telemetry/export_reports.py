# SPDX-License-Identifier: Apache-2.0
"""One log line when traces cannot be sent, and one when they can again, in place of the SDK's own lines."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

log = logging.getLogger(__name__)
_SDK: Final = "opentelemetry"


class ExportReports(logging.Handler):
    """Takes the log lines of the SDK, which come with each batch that fails. Any thread."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failing = False
        """True from a failure until a batch is sent."""
        logger = logging.getLogger(_SDK)
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self.failing:
            self.failing = True
            reason = record.getMessage()
            log.warning("Traces cannot be sent now; they are kept for some seconds, then dropped: %s", reason)

    def sent(self) -> None:
        """Report that a batch was sent."""
        if self.failing:
            self.failing = False
            log.info("Traces are sent again")


class ReportingExporter(SpanExporter):
    """An exporter that reports what it has sent. On the SDK's thread."""

    def __init__(self, exporter: SpanExporter, reports: ExportReports) -> None:
        self._exporter = exporter
        self._reports = reports

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._reports.sent()
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)
