# SPDX-License-Identifier: Apache-2.0
"""Spark's JVM and session in the worker, or in a host process of a connector's own; started again when it dies.

``spark_engine`` is what the other rooms use, ``spark_session`` a session, ``spark_process`` its JVM, ``hosted_jvm`` one
in another process; ``slots`` counts tasks that wait for a core. Imports ``process``, ``channel``, ``errors`` and
``headrace.jvm``. Begin with ``spark_engine``.
"""
