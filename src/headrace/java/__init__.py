# SPDX-License-Identifier: Apache-2.0
"""Plugins in Java: connectors, tasks, converters, transformations and predicates of Kafka Connect, unchanged.

JPype starts a JVM in a process of the plugin's own: that of a task, the host of a connector, or a short-lived one;
never in the worker's. Nothing here imports JPype before a plugin is used. ``jvm`` starts the JVM and loads classes,
``functions``, ``row_functions`` and ``record_functions`` apply Java's methods to whole batches,
``data`` and ``records`` convert schemas, values and records both ways, ``columns_to_python``, ``columns_to_java``,
``columns_to_records`` and ``record_columns`` many at once, ``errors`` exceptions, ``config_def``
definitions of properties; the others are classes of ``headrace.api`` around instances of Java's. Begin with ``jvm``.
"""
