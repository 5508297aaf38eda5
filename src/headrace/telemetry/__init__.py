# SPDX-License-Identifier: Apache-2.0
"""Traces of a worker and its tasks for OpenTelemetry.

Nothing else imports ``opentelemetry``, and nothing here does before traces are enabled. Begin with ``tracing``.
"""
