# SPDX-License-Identifier: Apache-2.0
"""Checks of a worker before it is started: of the machine, the worker's properties, Kafka and Spark.

Each module has a few checks: functions from facts to findings, and the functions that gather these facts. Nothing here
changes anything. Begin with ``checks``, the table of all, then ``findings`` and ``runner``; ``subject`` has what the
brokers answer to several checks.
"""
