# SPDX-License-Identifier: Apache-2.0
"""A task's process on an executor: everything that runs there besides the task itself.

``daemon`` is Spark's Python daemon with headrace loaded, ``executor_entry`` runs one attempt, ``shared_entry`` those of
several tasks, ``channel_link`` is an attempt's end of the task channel, ``process_frames`` and ``frame_exchange`` serve
the executors of frame jobs. Imports ``channel``, ``errors`` and ``headrace.task``, and as few libraries as possible, as
each task loads them. Begin with ``executor_entry``.
"""
