# SPDX-License-Identifier: Apache-2.0
"""The internal topics: config, status and offsets, in Kafka Connect's own formats.

``config_writes``, ``config_write_encoder``, ``config_records`` and ``config_log`` lead from a write to bytes and back
to a snapshot; the ``..._backing_store`` modules are the stores over ``kafka.log``, ``memory_backing_stores`` those of a
standalone worker. Imports ``kafka`` and ``model``; ``worker`` and the herders use it. Begin with ``config_log``.
"""
