# SPDX-License-Identifier: Apache-2.0
"""The built-in predicates, which decide whether a transformation applies to a record (KIP-585).

One module for each of Kafka's. They import `headrace.api`. Begin with `record_is_tombstone`.
"""
