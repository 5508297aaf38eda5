# SPDX-License-Identifier: Apache-2.0
"""Clients of Kafka; besides the embedded broker, no other package imports a Kafka client.

``clients`` makes clients' configurations, ``admin`` asks brokers, ``data`` sends and reads tasks' records, ``log``
reads internal topics, ``group`` is the worker's membership. Each raises the types of ``errors``, which say whether
trying again can help. Imports ``config`` and what is below it. Begin with ``errors``, then the sub-package you need.
"""
