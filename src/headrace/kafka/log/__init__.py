# SPDX-License-Identifier: Apache-2.0
"""A topic as a log that is read to its end and then followed: what config, status and offsets stores stand on.

``kafka_based_log`` has a thread that reads, ``end_waiters`` those that wait until the end is read (invariant 3), and
``topic_identity`` finds out that a topic was deleted and made anew. Java: ``KafkaBasedLog``. Imports ``kafka.admin``
and ``kafka.data``; ``storage`` uses it. Begin with ``kafka_based_log``.
"""
