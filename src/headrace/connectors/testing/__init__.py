# SPDX-License-Identifier: Apache-2.0
"""Kafka's connectors for tests of a cluster: Verifiable, Schema and Mock. They need a worker alone.

`numbered_source` is what both sources of numbered records share, `mock_connectors` fail on request. Imports
`headrace.api`. Begin with `verifiable_source`.
"""
