# SPDX-License-Identifier: Apache-2.0
"""The built-in converters. They import `headrace.api` and nothing else of headrace.

`json_converter` is Kafka's, with a reader, a writer and a way by columns; `number_converters`, `string_converter` and
the rest are small; `common` is what they share. Vectors recorded from Java decide what they write. Begin with
`string_converter`, then `json_converter`.
"""
