# SPDX-License-Identifier: Apache-2.0
"""Java on this machine: the runtime that is found, jars from Maven repositories, and the cache where both are kept.

``java_runtime`` finds a Java that Spark and the broker can use, ``ivy`` downloads jars and checks their digests,
``user_cache`` makes things in the user's cache directory once and whole. Imports ``api`` only; ``broker`` and ``spark``
use it. Begin with ``java_runtime``.
"""
