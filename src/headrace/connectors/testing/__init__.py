# SPDX-License-Identifier: Apache-2.0
"""Kafka's connectors for tests of a cluster: Verifiable, Schema and Mock. They need a worker alone.

Imports `headrace.api`. Begin with `verifiable_source`.
"""
