# SPDX-License-Identifier: Apache-2.0
"""A worker that is alone: no group, no internal topics, configurations in memory and source offsets in a file.

The herder is that of ``herder.engine``, with a group of which this worker is the only member (``sole_member``);
``file_offset_backing_store`` is the file, and ``assembly`` puts the parts together. ``cli`` uses it. Begin with
``assembly``.
"""
