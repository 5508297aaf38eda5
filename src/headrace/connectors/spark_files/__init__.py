# SPDX-License-Identifier: Apache-2.0
"""SparkFileSource: rows of files that Spark can read (csv, json, parquet, text, binary, avro), each file once.

`file_ledger` knows which files are read and how far, `file_reader` reads by frame jobs, which `spark_file_frames` has;
`completed_files` moves or deletes what is read. Imports `headrace.api` and `common`. Begin with `spark_file_source`.
"""
