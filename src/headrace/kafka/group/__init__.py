# SPDX-License-Identifier: Apache-2.0
"""Membership of a worker in its group, over kafka-python, as librdkafka cannot speak another protocol than consumers'.

``group_membership`` has a thread of its own that joins, sends heartbeats and reports assignments to a listener, which
``distributed.group`` implements. Java: ``WorkerGroupMember``. Imports ``kafka.errors`` only. Begin with
``group_membership``.
"""
