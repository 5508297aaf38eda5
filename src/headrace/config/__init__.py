# SPDX-License-Identifier: Apache-2.0
"""Configurations of workers and connectors, and the client properties that follow from them.

``worker_config`` and ``connector_config`` define and parse properties (Java: ``WorkerConfig``, ``ConnectorConfig``), a
worker's in groups (``engine_config``, ``rest_config``, ``access_config``); ``client_configs`` derives those of Kafka
clients; ``key_stores`` and ``tls_files`` read what they name. Imports ``api``. Begin with ``worker_config``.
"""
