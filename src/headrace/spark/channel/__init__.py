# SPDX-License-Identifier: Apache-2.0
"""The connection between a worker and the processes of its tasks.

``endpoint`` is an authenticated socket, ``mutual_proof`` and ``tls_connection`` its security, ``messages`` what it
carries beside ``headrace.task.task_protocol``, ``task_channel`` the worker's end. The process' end is
``process.channel_link``. Imports ``model``, ``api`` and the task's protocol; all other sub-packages of ``spark`` import
it. Begin with ``messages``.
"""
