# SPDX-License-Identifier: Apache-2.0
"""Properties of a worker for OpenTelemetry and OpenLineage, beside their own environment variables."""

from __future__ import annotations

from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type
from headrace.api.validators import ValidString

TRACES: Final = "telemetry.traces"
OTLP: Final = "otlp"
LINEAGE: Final = "lineage.enabled"


def define_telemetry(definition: ConfigDef) -> ConfigDef:
    """Add these properties to a worker's definition."""
    low = Importance.LOW
    # fmt: off
    return (
        definition
        .define(TRACES, Type.STRING, "none", importance=low, validator=ValidString("none", OTLP),
                doc="Whether worker and tasks send traces for OpenTelemetry: none, or otlp for OTLP over HTTP as the "
                    "environment variables OTEL_* configure it. headrace only.")
        .define(LINEAGE, Type.BOOLEAN, False, importance=low,
                doc="Whether the worker sends events about connectors and their datasets for OpenLineage, as the "
                    "environment variables OPENLINEAGE_* or its configuration file say. headrace only.")
    )
    # fmt: on
