# SPDX-License-Identifier: Apache-2.0
"""SparkSink: records into files, tables of databases and lakes, by Spark, effectively once where the target allows.

`sink_target` has a target's operations, its rewind included; `spark_sink_files`, `_postgres`, `_delta` and `_table`
carry them out, and record in the target the offsets that are written. `sink_dry_run` says without Spark what would be
written. Imports `headrace.api` and `common`. Begin with `spark_sink`, then `sink_target`.
"""
