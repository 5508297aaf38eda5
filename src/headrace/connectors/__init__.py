# SPDX-License-Identifier: Apache-2.0
"""Connectors that come with headrace; like anyone's, they import `headrace.api` only."""
