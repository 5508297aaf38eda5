# SPDX-License-Identifier: Apache-2.0
"""Tasks on Spark, as the worker sees them: ``worker.task_launcher`` implemented.

``spark_task_launcher`` launches, ``launched_task`` is one task: the shell around ``attempt_machine``, which decides
which ``attempt_actions`` follow from ``attempt_events``. ``attached_process`` is one of its processes,
``worker_answers`` answers their requests, ``shared_processes`` are those of several tasks, ``task_engines`` gives
connectors a JVM of their own where they request it. Imports all other sub-packages of ``spark``. Begin with
``spark_task_launcher``.
"""
