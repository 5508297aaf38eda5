# SPDX-License-Identifier: Apache-2.0
"""Frame jobs in the worker: short Spark jobs that tasks and connectors request.

``frame_jobs`` runs those of tasks, ``connector_jobs`` runs and analyses those of connectors, ``frame_breaker`` stops
those that end the engine. Their other end is ``process.frame_exchange``. Imports ``engine`` and what is below it. Begin
with ``frame_jobs``.
"""
