# SPDX-License-Identifier: Apache-2.0
"""Offsets of connectors: their stores, and reads and changes by connectors, tasks and operators."""
