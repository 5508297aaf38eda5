# SPDX-License-Identifier: Apache-2.0
"""SparkFileSource: rows of files that Spark can read (csv, json, parquet, text, binary, avro), each file once.

`file_ledger` records which files are read and how far, `file_reader` reads by the frame jobs of `spark_file_frames`;
`completed_files` moves or deletes files that are read. Imports `headrace.api` and `common`. Begin with
`spark_file_source`.
"""
