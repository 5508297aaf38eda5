# SPDX-License-Identifier: Apache-2.0
"""Words for what Spark and Java raise, without traces: whose fault it is, what is short, and what to do.

Nothing here asks a JVM, which may be dead or stand still. Imports ``channel`` and ``api``. Begin with ``frame_errors``.
"""
