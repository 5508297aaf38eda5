# SPDX-License-Identifier: Apache-2.0
"""The engine: one long-running Spark job of one partition for each task. The only package that imports pyspark."""
