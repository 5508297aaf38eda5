# SPDX-License-Identifier: Apache-2.0
"""The command line: wiring only.

``main`` has the commands; ``distributed``, ``standalone`` and ``broker`` put the parts of a process together,
``worker_process`` runs them until a signal, ``console`` shows errors and log lines. Imports all packages; none imports
it. Begin with ``main``, then ``worker_process``.
"""
