# SPDX-License-Identifier: Apache-2.0
"""headrace: Kafka Connect for Python people, with every task's data path on Apache Spark."""

__version__ = "0.1.0"
