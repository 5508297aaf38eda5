# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the connectors' families: reading by Spark and JDBC, incremental columns, logs of batches in files.

`spark_reader` is the configuration of a reader, `incremental_columns` and `incremental_rows` find new rows
of a table, `batch_log` makes a batch of files visible at once. Imports `headrace.api`, and no family. Begin with
`spark_reader`.
"""
