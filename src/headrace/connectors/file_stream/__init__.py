# SPDX-License-Identifier: Apache-2.0
"""FileStreamSource and FileStreamSink: lines of a file, as Kafka's connectors of that name.

`followed_file` reads a file that grows, is truncated or replaced; `line_splitter` makes lines of bytes;
`output_file` appends. Imports `headrace.api`. Begin with `file_stream_source`.
"""
