# SPDX-License-Identifier: Apache-2.0
"""headrace: Kafka Connect for Python people, with every task's data path on Apache Spark."""

__version__ = "0.1.0"

KAFKA_VERSION = "4.3.1"
"""The version of Apache Kafka that workers, and plugins in the place of Kafka's, behave as and call themselves."""
