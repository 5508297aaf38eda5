# SPDX-License-Identifier: Apache-2.0
"""Plugins in Java: connectors, tasks, converters, transformations and predicates of Kafka Connect, unchanged.

``scan`` finds them in ``plugin.path`` without a JVM, ``classes`` makes the Python classes that stand for them, and
``store`` installs them. Begin with ``plugin``.
"""
