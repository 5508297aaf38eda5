# SPDX-License-Identifier: Apache-2.0
"""Source tasks: polling, transactions and source offsets.

``exactly_once_worker_source_task`` and ``worker_source_task`` are the two loops, ``transactional_writer`` the order of
steps that is the guarantee (invariants 1 and 5), ``transaction_boundary`` where transactions end;
``source_task_factory`` puts the parts together. Imports ``task`` and ``kafka.data``. Begin with
``exactly_once_worker_source_task``.
"""
