# SPDX-License-Identifier: Apache-2.0
"""Headers of Kafka records as Java's converters get and add them: bytes by names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.headers import RAW, Headers
from headrace.java.data import java_bytes
from headrace.java.jvm import java_class


def raw_headers(headers: Mapping[str, bytes | None]) -> Any:
    """Return Kafka's `RecordHeaders` with these."""
    result = java_class("org.apache.kafka.common.header.internals.RecordHeaders")()
    for name, value in headers.items():
        result.add(name, None if value is None else java_bytes(value))
    return result


def add_new_headers(headers: Headers, raw: Any) -> None:
    """Add to a record's headers what a converter has added to `raw`, which had none, as the same bytes."""
    for header in raw.toArray():
        headers.add(str(header.key()), None if header.value() is None else bytes(header.value()), RAW)
