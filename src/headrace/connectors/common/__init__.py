# SPDX-License-Identifier: Apache-2.0
"""What families of connectors share: reading by Spark and JDBC, growing columns, logs of batches in files.

`spark_reader` is the configuration of a reader, `growing_columns` and `growing_rows` find what is new in a table or
file, `batch_log` makes a batch of files visible at once. Imports `headrace.api`, and no family. Begin with
`spark_reader`.
"""
