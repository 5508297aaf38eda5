# SPDX-License-Identifier: Apache-2.0
"""A worker that is alone: no group, no internal topics, configurations in memory and source offsets in a file.

``standalone_herder`` implements ``herder.herder``, ``managed_connector`` is one connector with its tasks,
``file_offset_backing_store`` the file; ``assembly`` puts the parts together. Imports what ``distributed`` does, and not
``distributed``. Begin with ``standalone_herder``.
"""
