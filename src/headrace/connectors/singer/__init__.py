# SPDX-License-Identifier: Apache-2.0
"""SingerSource and SingerSink: the streams of taps as records, and records for targets.

`child` and `guard` run a tap or target; `messages`, `json_schemas`, `streams` and `held_records` are the pure part of
the source: from lines to records that a STATE covers. `tombstones` finds the rows that are gone. Imports
`headrace.api`. Begin with `singer_source`.
"""
