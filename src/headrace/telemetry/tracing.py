# SPDX-License-Identifier: Apache-2.0
"""The interface of traces, the implementation that records none, and the trace contexts in records' headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from headrace.api.errors import ConfigError
from headrace.config.telemetry_config import OTLP, TRACES

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

Attributes = Mapping[str, str | int | bool]
TRACEPARENT: Final = "traceparent"
_MOST: Final = 32
"""A span with more links is of no use; a batch has up to thousands of records."""
_LONGEST: Final = 64


class SpanKind(Enum):
    """OpenTelemetry's kinds, by their names."""

    INTERNAL = "INTERNAL"
    PRODUCER = "PRODUCER"
    CONSUMER = "CONSUMER"


class Span(Protocol):
    """One operation, from `Tracing.begin` to ``end``. Any thread, one at a time."""

    @property
    def recording(self) -> bool:
        """True if it is sampled; otherwise nothing that is added to it is of use."""

    def link(self, traceparents: Iterable[str]) -> None:
        """Link it with the spans of these W3C contexts; those that are not valid are ignored."""

    def end(self, attributes: Attributes | None = None, error_type: str | None = None) -> None:
        """End it, as failed if there is an ``error_type``. Messages are left out: they may contain data."""


class Tracing(Protocol):
    """The traces of one process. Thread-safe; no method but ``close`` waits for anything."""

    @property
    def provider(self) -> TracerProvider | None:
        """The provider for libraries that record spans themselves; None if there are no traces."""

    def begin(
        self, name: str, attributes: Attributes | None = None, *, kind: SpanKind = SpanKind.INTERNAL, ago: float = 0.0
    ) -> Span:
        """Begin a span, which began ``ago`` seconds before now."""

    def outgoing_headers(self) -> Mapping[str, str]:
        """Return the headers that continue the present trace in a request; none outside a span."""

    def close(self, timeout: float) -> None:
        """Send what is left, within ``timeout`` seconds, and end."""


class _NoSpan:
    recording = False

    def link(self, traceparents: Iterable[str]) -> None: ...

    def end(self, attributes: Attributes | None = None, error_type: str | None = None) -> None: ...


class NoTracing:
    """``Tracing`` that records nothing."""

    provider = None

    def begin(
        self, name: str, attributes: Attributes | None = None, *, kind: SpanKind = SpanKind.INTERNAL, ago: float = 0.0
    ) -> Span:
        return _NO_SPAN

    def outgoing_headers(self) -> Mapping[str, str]:
        return {}

    def close(self, timeout: float) -> None: ...


_NO_SPAN: Final = _NoSpan()
NO_TRACING: Final = NoTracing()


def create_tracing(traces: str | None, instance: str) -> Tracing:
    """Return the traces that ``telemetry.traces`` requires; ``instance`` is the process' ``service.instance.id``.

    The variables ``OTEL_*`` say the rest. Raise ConfigError if packages are missing or a variable is not valid.
    """
    if traces != OTLP:
        return NO_TRACING
    try:
        from headrace.telemetry.otlp import OtlpTracing
    except ImportError as error:
        raise ConfigError.invalid(
            TRACES, traces, f"needs OpenTelemetry: install headrace with the extra 'otel' ({error})"
        ) from error
    try:
        return OtlpTracing(instance)
    except ValueError as error:
        raise ConfigError.invalid(TRACES, traces, f"the variables OTEL_* cannot be used: {error}") from error


def traceparents(headers: Iterable[Sequence[tuple[str, bytes | None]] | None], most: int = _MOST) -> list[str]:
    """Return the different W3C contexts of records with these raw headers, in order, up to ``most``.

    Only for batches that are sampled. JsonConverter writes a text in quotes, which are removed.
    """
    found: dict[bytes, None] = {}
    for each in headers:
        for name, value in each or ():
            if name == TRACEPARENT and value is not None and len(value) <= _LONGEST:
                found[value] = None
                break
        if len(found) >= most:
            break
    return [value.decode("ascii", "replace").strip('"') for value in found]
