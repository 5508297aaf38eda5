# SPDX-License-Identifier: Apache-2.0
"""The connection between a worker and the processes of its tasks.

``endpoint`` is an authenticated socket, ``mutual_proof`` and ``tls_connection`` its security, ``messages`` its
protocol, ``task_channel`` the worker's end. The process' end is ``process.channel_link``. Imports ``model`` and
``api``; all other sub-packages of ``spark`` import it. Begin with ``messages``.
"""
