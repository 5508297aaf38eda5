# SPDX-License-Identifier: Apache-2.0
"""Kafka's connectors for tests of a cluster: Verifiable, Schema and Mock. They need nothing but a worker.

Imports `headrace.api`. Begin with `verifiable_source`.
"""
