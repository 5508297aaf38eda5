# SPDX-License-Identifier: Apache-2.0
"""The decisions of a herder in a group: pure functions from state and event to state and actions.

No thread, clock, lock or connection is used here; times and random bytes are parameters. Imports ``model``, the errors
of ``herder``, and nothing else of the worker's. Begin with ``herder_core.step``; ``herder_events`` lists what can
happen, ``herder_actions`` what is to be done, ``herder_state`` what is known. ``leader_duties`` holds what the leader
decides for all workers, ``own_work`` what each does for itself.
"""
