# SPDX-License-Identifier: Apache-2.0
"""Connectors that come with headrace; like anyone's, they import `headrace.api` only.

`file_stream` and `testing` are Kafka's (FileStream, Verifiable, Mock, Schema); `spark_files` and `spark_table` read by
Spark, `spark_sink` writes by it; `sample` generates data to try headrace out; `common` is shared by families. Families
do not import each other. Users name connectors by their short names, so a module may move. Begin with
`file_stream.file_stream_source`.
"""
