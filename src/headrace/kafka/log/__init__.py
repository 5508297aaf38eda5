# SPDX-License-Identifier: Apache-2.0
"""A topic as a log that is read to its end and then followed, for the config, status and offsets stores.

``kafka_based_log`` has a thread that reads, ``end_waiters`` the futures of those that wait for the end (invariant 3),
and ``topic_identity`` detects that a topic was deleted and created again. Java: ``KafkaBasedLog``. Imports
``kafka.admin`` and ``kafka.data``; ``storage`` uses it. Begin with ``kafka_based_log``.
"""
