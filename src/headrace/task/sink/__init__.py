# SPDX-License-Identifier: Apache-2.0
"""Sink tasks: from Kafka through converters and transformations into an outside system."""
