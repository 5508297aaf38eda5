# SPDX-License-Identifier: Apache-2.0
"""SparkTableSource: rows of a database's table that Spark reads by JDBC, new ones by incremental columns.

`table_queries` makes the queries, `split_reader` reads a task's part, `spark_table_frames` runs on executors. Imports
`headrace.api` and `common`. Begin with `spark_table_source`.
"""
