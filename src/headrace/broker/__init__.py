# SPDX-License-Identifier: Apache-2.0
"""A Kafka broker on this machine, for demonstrations, tests and development (``headrace broker``).

The real broker of Apache Kafka in a JVM of its own, whose jars come through ``jvm.ivy`` and are checked against
``pins``. It is started from a template that is made once, so that a start takes a second. Imports ``jvm``, ``model``
and ``api``; ``cli`` uses it. Begin with ``embedded_broker``.
"""
