# SPDX-License-Identifier: Apache-2.0
"""Membership in a group of workers: Kafka Connect's embedded protocol, and the leader's assignments.

``worker_coordinator`` answers the group's callbacks, on the membership's thread; ``group_leader`` computes assignments
by one of the assignors, which are pure; ``connect_protocol`` has the bytes (KIP-415, KIP-507). Imports ``core`` for the
events that it reports, and ``model``. Begin with ``worker_coordinator``.
"""
