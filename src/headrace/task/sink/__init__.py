# SPDX-License-Identifier: Apache-2.0
"""Sink tasks: from Kafka through converters and transformations into an outside system.

``worker_sink_task`` is the loop, ``sink_offset_commit`` decides purely when offsets are committed (invariant 9),
``sink_committer`` commits; ``sink_task_factory`` puts the parts together. Imports ``task`` and ``kafka.data``. Begin
with ``worker_sink_task``.
"""
