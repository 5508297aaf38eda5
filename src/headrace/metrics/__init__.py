# SPDX-License-Identifier: Apache-2.0
"""A worker's metrics, by Kafka Connect's groups and names, for Prometheus. Java: ``ConnectMetricsRegistry``.

``figures`` are the snapshots that workers return; each group of metrics has a module that reads them
(``worker_metrics``, ``rebalance_metrics``, ``connector_metrics``, ``task_metrics``, ``client_metrics``,
``plugin_metrics``); ``jmx_naming`` makes Prometheus' names, and ``exposition`` the text. Imports ``model``; any package
may fill in figures. Begin with ``connect_metric``.
"""
