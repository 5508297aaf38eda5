# SPDX-License-Identifier: Apache-2.0
"""Configurations of workers and connectors, and the client properties that follow from them."""
