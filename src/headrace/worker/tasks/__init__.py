# SPDX-License-Identifier: Apache-2.0
"""The tasks of one worker: their launch, their life, and the interface of the engine that runs them.

``worker_tasks`` keeps them, ``supervised_task`` is one, ``task_phase`` its table of transitions, ``task_launch`` what a
launch needs, ``task_launcher`` the Protocol of an engine. Imports ``storage`` and ``plugins``. Begin with
``task_phase``.
"""
