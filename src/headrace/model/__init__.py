# SPDX-License-Identifier: Apache-2.0
"""Frozen values and futures that the layers above pass around, and the ends of processes.

``ids``, ``state`` and ``assignment`` are Kafka Connect's words as dataclasses, ``cluster_config_state`` is the snapshot
of the config topic, ``info`` what REST answers and how it changes offsets. ``process_group`` is for programs that
start others. Imports ``api``. Begin with ``cluster_config_state``.
"""
