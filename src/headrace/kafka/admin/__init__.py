# SPDX-License-Identifier: Apache-2.0
"""Administrative requests to brokers: topics, their ids, consumer groups, fencing, open transactions.

``topic_admin`` is what most callers use; ``admin_client`` fences other producers (KIP-618), for workers and for
operators' scripts; ``cluster_queries``, ``topic_contents`` and ``broker_connection`` are for checks, and change
nothing. Calls block until a deadline, and raise the types of ``kafka.errors``. Imports ``kafka.clients``.
Begin with ``topic_admin``.
"""
