# SPDX-License-Identifier: Apache-2.0
"""SparkSink: records into files, tables of databases and lakes, by Spark, each in effect once where the target allows.

`sink_target` is what a target has to do, `spark_sink_files`, `_postgres`, `_delta` and `_table` do it, and remember in
the target what is written. Imports `headrace.api` and `common`. Begin with `spark_sink`, then `sink_target`.
"""
