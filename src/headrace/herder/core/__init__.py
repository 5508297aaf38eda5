# SPDX-License-Identifier: Apache-2.0
"""The decisions of a herder, in a group or alone: pure functions from state and event to state and actions.

No thread, clock, lock or connection is used here; times and random bytes are parameters. Imports ``model``, the errors
of ``herder``, and nothing else of the worker's. Begin with ``herder_core.step``; ``herder_events`` are its input,
``herder_actions`` its output, ``herder_state`` is all that it knows. ``leader_duties`` holds the leader's decisions for
all workers, ``local_work`` those of each worker for itself.
"""
