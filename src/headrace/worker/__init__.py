# SPDX-License-Identifier: Apache-2.0
"""The connectors and tasks of one process."""
