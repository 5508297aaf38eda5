# SPDX-License-Identifier: Apache-2.0
"""A query of Spark SQL on lines of text, and two transformations that Java Connect does the same with."""

from __future__ import annotations

import json

_JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
_STRING = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
_TWO = {
    "transforms": "hoist,insert",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
}
_THERE_AND_BACK = {
    "transforms": "hoist,extract",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.extract.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.extract.field": "line",
}


def _query(query: str) -> dict[str, str]:
    return {"transforms": "q", "transforms.q.type": "SparkSql", "transforms.q.query": query}


def structs(engine: str) -> dict[str, str]:
    """Each line becomes a struct of two fields, written as JSON."""
    query = "SELECT value AS line, 'bench' AS origin FROM records"
    return _JSON | (_TWO if engine == "java" else _query(query))


def texts(engine: str) -> dict[str, str]:
    """Lines stay what they are."""
    query = "SELECT concat('', value) AS value FROM records WHERE length(value) > 0"
    return _STRING | (_THERE_AND_BACK if engine == "java" else _query(query))


def converted(line: str) -> bytes:
    """The value that a line ends up as, of `structs`."""
    return json.dumps({"line": line, "origin": "bench"}, separators=(",", ":")).encode()
