# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the connectors' families: reading by Spark and JDBC, incremental columns, logs of batches in files.

`spark_config` has the properties of both sources and `spark_source` the rest that they share, `spark_reader` reads with
any of Spark's formats, `incremental_columns` and `incremental_rows` find new rows of a table, `batch_log` makes a batch
of files visible at once, `interruptible_wait` is a wait of any poll. Imports `headrace.api`, and no family. Begin with
`spark_config`.
"""
