# SPDX-License-Identifier: Apache-2.0
"""Java on this machine: its runtime, jars from Maven repositories, and the cache for both.

``java_runtime`` finds a Java that Spark and the broker can use, ``ivy`` downloads jars and checks their digests,
``user_cache`` makes things in the user's cache directory once and whole. Imports ``api`` only; ``broker`` and ``spark``
use it. Begin with ``java_runtime``.
"""
