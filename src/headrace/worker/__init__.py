# SPDX-License-Identifier: Apache-2.0
"""Runs connectors and tasks of one process."""
