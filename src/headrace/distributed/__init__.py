# SPDX-License-Identifier: Apache-2.0
"""A worker in a group of workers: requests, the config topic and rebalances decide what runs here.

``core`` decides and is pure, ``group`` is the worker's membership, and the modules here are the shell around both:
threads, stores and connections. Imports ``herder``, ``worker``, ``storage`` and what is below them; ``rest`` and
``cli`` use it. Begin with ``distributed_herder``, then ``core.herder_core``; ``assembly`` puts the parts together.
"""
