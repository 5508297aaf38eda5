# SPDX-License-Identifier: Apache-2.0
"""Records that cannot be processed: tried again, set aside, or the end of the task (KIP-298).

``retry_with_tolerance`` decides (Java: ``RetryWithToleranceOperator``), ``processing_context`` says where a record was,
``reporters`` log and ``dead_letters`` keep it. Imports ``api`` and ``kafka.data``. Begin with ``retry_with_tolerance``.
"""
