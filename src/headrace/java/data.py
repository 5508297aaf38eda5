# SPDX-License-Identifier: Apache-2.0
"""Schemas and values, from Java to Python and back: the logical types are Python's own in Python and Java's in Java.

Equal schemas are converted once. Debezium's and others' named schemas, which are no logical types of Kafka Connect,
keep their names and have values of their plain types.
"""

from __future__ import annotations

from headrace.java.to_java import java_bytes, java_map, java_schema, java_value
from headrace.java.to_python import python_schema, python_value

__all__ = ["java_bytes", "java_map", "java_schema", "java_value", "python_schema", "python_value"]
