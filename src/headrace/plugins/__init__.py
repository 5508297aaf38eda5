# SPDX-License-Identifier: Apache-2.0
"""Finds connectors, converters and transformations by name."""
