# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers of tasks' records: the data path's end at Kafka.

``transactional_producer`` has the table of a producer's life (invariants 1, 2, 4 and 5), ``record_producer`` sends
whole batches, whose failures ``delivery_failures`` has, ``sink_consumer`` reads them as columns, ``record_sender``
writes single records with a future each, and ``client_statistics`` has the clients' own figures. Without a group, by
an ``assigned_consumer``, ``topic_reader`` reads topics for people to look at, and ``range_reader`` the dead letters of
a redrive.
Used in a task's process, by one thread each unless it says otherwise. Imports ``kafka.clients``. Begin with
``transactional_producer``.
"""
