# SPDX-License-Identifier: Apache-2.0
"""Kafka Connect's REST API."""
