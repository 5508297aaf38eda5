# SPDX-License-Identifier: Apache-2.0
"""Records that cannot be processed: retried, sent to the dead letter topic, or the end of the task (KIP-298).

``error_reports`` reports to worker and log what a task survives, ``task_errors`` and ``error_hints`` describe errors.
``retry_with_tolerance`` decides (Java: ``RetryWithToleranceOperator``), ``processing_context`` says where a record was,
``reporters`` log it and make a dead letter of it. Imports ``api`` and ``kafka.data``. Begin with
``retry_with_tolerance``.
"""
