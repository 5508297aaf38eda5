# SPDX-License-Identifier: Apache-2.0
"""The internal topics: config, status and offsets, in Kafka Connect's own formats."""
