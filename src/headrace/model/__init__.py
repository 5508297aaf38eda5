# SPDX-License-Identifier: Apache-2.0
"""Frozen values and futures that the layers above pass around; nothing here does I/O.

``ids``, ``state`` and ``assignment`` are Kafka Connect's words as dataclasses, ``cluster_config_state`` is the snapshot
of the config topic, ``info`` what REST answers and how it changes offsets. Imports ``api``. Begin with
``cluster_config_state``.
"""
