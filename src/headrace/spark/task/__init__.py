# SPDX-License-Identifier: Apache-2.0
"""Tasks on Spark, as the worker sees them: ``worker.task_launcher`` implemented.

``spark_task_launcher`` launches, ``launched_task`` is one task with its attempts, ``task_engines`` gives connectors a
JVM of their own where they request it. Imports all other sub-packages of ``spark``. Begin with
``spark_task_launcher``.
"""
