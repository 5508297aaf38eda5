# SPDX-License-Identifier: Apache-2.0
"""A worker's herder: its interface, its decisions, and the validation of configurations.

``herder`` is the protocol that REST calls, ``errors`` what it raises, ``herder_queries`` the answers from snapshots,
``connector_validation`` what is wrong with a configuration.

``core`` decides and is pure; ``engine`` is the shell around it, the same for both kinds of workers. Imports ``worker``
and what is below it; ``distributed`` and ``standalone`` give it its group and its stores. Begin with ``herder``, then
``engine.worker_herder`` and ``core.herder_core``.
"""
