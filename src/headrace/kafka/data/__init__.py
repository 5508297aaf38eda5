# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers of tasks' records: the end of data's way at Kafka.

``transactional_producer`` has the table of a producer's life (invariants 1, 2, 4 and 5), ``record_producer`` sends
whole batches, ``sink_consumer`` reads them as columns, ``record_sender`` writes single records that somebody waits for.
Used in a task's process, by one thread each unless it says otherwise. Imports ``kafka.clients``. Begin with
``transactional_producer``.
"""
