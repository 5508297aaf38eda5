# SPDX-License-Identifier: Apache-2.0
"""A worker in a group of workers: requests, the config topic and rebalances decide what runs here.

The herder is that of ``herder.engine``; ``distributed_herder`` adds the requests of workers to each other. ``group`` is
the worker's membership, and ``stores`` is the life of the internal topics. Imports ``herder``, ``worker``, ``storage``
and what is below them; ``cli`` uses it. Begin with ``assembly``, which puts the parts together.
"""
