# SPDX-License-Identifier: Apache-2.0
"""The bytes of the Connect group protocol against Java Connect's own (tests/vectors/protocol.jsonl)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConnectError
from headrace.distributed.group.connect_protocol import (
    ConnectProtocol,
    MemberMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)
from headrace.model.assignment import Assignment, AssignmentError
from headrace.model.ids import ConnectorTaskId

VECTORS = [
    json.loads(line) for line in (Path(__file__).parents[2] / "vectors" / "protocol.jsonl").read_text().splitlines()
]
NO_ASSIGNMENT = {
    "error": 0, "leader": None, "leaderUrl": None, "offset": -1, "connectors": [], "tasks": [],
    "revokedConnectors": [], "revokedTasks": [], "delay": 0,
}  # fmt: skip


def task(text: str) -> ConnectorTaskId:
    connector, _, number = text.rpartition("-")
    return ConnectorTaskId(connector, int(number))


def assignment_from(value: dict[str, Any] | None) -> Assignment | None:
    if value is None:
        return None
    return Assignment(
        value["leader"], value["leaderUrl"], value["offset"],
        tuple(value["connectors"]), tuple(map(task, value["tasks"])),
        tuple(value.get("revokedConnectors", ())), tuple(map(task, value.get("revokedTasks", ()))),
        value.get("delay", 0), AssignmentError(value["error"]),
    )  # fmt: skip


def shown(assignment: Assignment | None) -> dict[str, Any]:
    if assignment is None:
        return NO_ASSIGNMENT
    return {
        "error": int(assignment.error), "leader": assignment.leader, "leaderUrl": assignment.leader_url,
        "offset": assignment.config_offset, "connectors": list(assignment.connectors),
        "tasks": [str(t) for t in assignment.tasks], "revokedConnectors": list(assignment.revoked_connectors),
        "revokedTasks": [str(t) for t in assignment.revoked_tasks], "delay": assignment.delay_ms,
    }  # fmt: skip


def encoded(data: bytes) -> dict[str, str]:
    return {"$bytes": base64.b64encode(data).decode()}


def run(vector: dict[str, Any]) -> Any:
    given, incremental = vector["input"], "Incremental" in vector["class"]
    protocol = ConnectProtocol.EAGER
    if incremental:
        protocol = ConnectProtocol.SESSIONED if given.get("sessioned") else ConnectProtocol.COMPATIBLE
    match vector["op"]:
        case "serializeMetadata":
            owned = assignment_from(given.get("assignment"))
            return encoded(encode_metadata(MemberMetadata(given["url"], given["offset"], owned), protocol))
        case "metadataRequest":
            metadata = MemberMetadata(given["url"], given["offset"], assignment_from(given["assignment"]))
            return [
                {"name": offered.group_name, "metadata": encoded(encode_metadata(metadata, offered))}
                for offered in ConnectProtocol.offered(protocol.name)
            ]
        case "serializeAssignment":
            assignment = assignment_from(given["assignment"] if incremental else given)
            return encoded(encode_assignment(assignment, protocol))  # type: ignore[arg-type]
        case "deserializeMetadata":
            decoded = decode_metadata(base64.b64decode(given["bytes"]["$bytes"]))
            result: dict[str, Any] = {"url": decoded.url, "offset": decoded.config_offset}
            return {**result, "assignment": shown(decoded.owned)} if incremental else result
        case "deserializeAssignment":
            return shown(decode_assignment(base64.b64decode(given["bytes"]["$bytes"])))
    raise AssertionError(vector["op"])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"].removeprefix("protocol/"))
def test_bytes_are_javas(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises((ConnectError, AttributeError)):
            run(vector)
        return
    expected = vector["output"]
    for part in (expected, expected.get("assignment")) if isinstance(expected, dict) else ():
        if isinstance(part, dict):
            part.pop("version", None)
    actual = run(vector)
    if vector["op"] == "deserializeAssignment":
        actual = {key: value for key, value in actual.items() if key in expected}
    assert actual == expected


@pytest.mark.parametrize("protocol", ConnectProtocol)
def test_an_assignment_survives_the_way_there_and_back(protocol: ConnectProtocol) -> None:
    eager = protocol is ConnectProtocol.EAGER
    assignment = Assignment(
        "member", "http://h:1/", 7, ("a", "ä"), (ConnectorTaskId("a", 0), ConnectorTaskId("a", 12)),
        () if eager else ("gone",), () if eager else (ConnectorTaskId("gone", 3),), 0 if eager else 300_000,
    )  # fmt: skip
    assert decode_assignment(encode_assignment(assignment, protocol)) == assignment


def test_truncated_bytes_are_refused() -> None:
    data = encode_metadata(MemberMetadata("http://h:1/", 7), ConnectProtocol.SESSIONED)
    for size in range(len(data)):
        with pytest.raises(ConnectError):
            decode_metadata(data[:size])


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(ConnectError, match="'range'"):
        ConnectProtocol.named("range")


def test_a_worker_offers_what_lies_between_two_protocols() -> None:
    eager, compatible, sessioned = ConnectProtocol
    assert ConnectProtocol.offered("sessioned") == (sessioned, compatible, eager)
    assert ConnectProtocol.offered("sessioned", "compatible") == (sessioned, compatible)
    assert ConnectProtocol.offered("compatible", "compatible") == (compatible,)
