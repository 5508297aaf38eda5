# SPDX-License-Identifier: Apache-2.0
"""Offsets of connectors: their stores, and reads and changes by connectors, tasks and operators.

``connector_offsets`` serves KIP-875 for ``source_offsets`` and ``sink_offsets``; ``offset_stores`` and
``own_offset_topics`` find the topics of a connector, ``global_offset_copies`` keeps the worker's topic current. Imports
``storage`` and ``kafka.admin``. Begin with ``connector_offsets``.
"""
