# SPDX-License-Identifier: Apache-2.0
"""Classification and messages of errors of Spark and Java, without traces, with the remedy where there is one.

The JVM may be dead or hang: no call here waits for it without limit. Imports ``channel`` and ``api``. Begin with
``frame_errors``.
"""
