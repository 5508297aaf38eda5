# SPDX-License-Identifier: Apache-2.0
"""The data path: everything that runs in a task's process.

``source`` and ``sink`` are the two loops, ``frames`` steps on DataFrames, ``errors`` what becomes of records that fail;
``transformation_chain`` and ``record_converter`` stand between poll and producer; ``task_protocol`` is what a task and
its worker send each other. Imports ``kafka``, ``plugins`` and ``storage``; ``spark.process`` runs it. Begin with
``worker_task``, then ``source.exactly_once_worker_source_task``.
"""
