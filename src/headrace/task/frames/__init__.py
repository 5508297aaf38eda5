# SPDX-License-Identifier: Apache-2.0
"""Steps of a chain that transform whole batches, as Spark DataFrames.

``frame_chain`` cuts a chain into steps on records and on frames, ``frame_step`` runs one by a frame job,
``record_tables`` and ``sink_tables`` make tables of records and back. Knows nothing of ``source`` and ``sink``. Begin
with ``frame_chain``.
"""
