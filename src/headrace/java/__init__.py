# SPDX-License-Identifier: Apache-2.0
"""Plugins in Java: connectors, tasks, converters, transformations and predicates of Kafka Connect, unchanged.

JPype starts a JVM in a process of the plugin's own, never in the worker's; nothing here imports JPype before a plugin
is used. ``jvm`` starts the JVM and loads classes, ``functions`` and the like apply Java's methods to whole batches,
``data`` and ``records`` convert single values and records, ``columns_to_python`` and ``columns_to_java`` many at once.
The others are classes of ``headrace.api`` around instances of Java's. Begin with ``jvm``.
"""
