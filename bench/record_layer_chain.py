# SPDX-License-Identifier: Apache-2.0
"""A chain of four on lines of text, as a connector's properties that Java Connect understands as well."""

from __future__ import annotations

import json

LINE_CHAIN = {
    "transforms": "hoist,insert,rename,mask",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
    "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.rename.renames": "line:text",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "origin",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
"""Each line becomes a struct, of which JsonConverter writes the fields without their schema."""


def converted(line: str) -> bytes:
    """The value that a line ends up as."""
    return json.dumps({"text": line, "origin": ""}, separators=(",", ":")).encode()
