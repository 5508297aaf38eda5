# SPDX-License-Identifier: Apache-2.0
"""The engine: Spark runs each task as one long job of one partition. No other package imports pyspark.

From below: ``channel`` connects a worker and its tasks' processes; ``errors`` classifies errors of Spark and Java;
``process`` runs on executors; ``engine`` is Spark's JVM and session; ``frames`` runs short jobs on DataFrames; ``task``
implements ``worker.task_launcher``. Imports ``worker``'s Protocols, ``task`` and what is below them; ``cli`` uses it.
Begin with ``task.spark_task_launcher``.
"""
