# SPDX-License-Identifier: Apache-2.0
"""The built-in transformations and predicates. They import `headrace.api` and nothing else of headrace.

Each module is one of Kafka's, by its name in lower case; those that begin with an underscore are shared: `_common`,
Java's dates, regular expressions and casts. `spark_sql` and `data_frame_function` work on whole batches. Vectors
recorded from Java decide. Begin with `hoist_field`.
"""
