# SPDX-License-Identifier: Apache-2.0
"""Offsets over REST: what a request may say and how it is answered."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from headrace.herder.errors import BadRequestError, RebalanceNeededError
from headrace.kafka.admin.consumer_groups import ActiveGroupError
from headrace.model.info import ConnectorOffset, OffsetBounds, OffsetsChange, PartitionBounds

OFFSETS = {"offsets": [{"partition": {"filename": "f"}, "offset": {"position": 1234567890123456789, "ratio": 0.5}}]}
JSON = {"Accept": "application/json"}
ANY = {"Accept": "*/*"}


def test_kip_875_answers_without_a_body(client: httpx2.Client, herder: Any) -> None:
    altered = client.patch("/connectors/c/offsets", json=OFFSETS, headers=ANY)
    assert (altered.status_code, altered.content) == (204, b"")
    wanted = ConnectorOffset({"filename": "f"}, {"position": 1234567890123456789, "ratio": 0.5})
    assert herder.asked == ("c", OffsetsChange((wanted,), dry_run=False))
    reset = client.delete("/connectors/c/offsets", headers=ANY)
    assert (reset.status_code, reset.content) == (204, b"")
    assert herder.asked == ("c", OffsetsChange(None, dry_run=False))


@pytest.mark.parametrize("accept", ["application/json", "text/plain, Application/JSON;q=0.9"])
def test_who_asks_for_json_gets_kafkas_message(client: httpx2.Client, accept: str) -> None:
    headers = {"Accept": accept}
    for answer in (
        client.patch("/connectors/c/offsets", json=OFFSETS, headers=headers),
        client.delete("/connectors/c/offsets", headers=headers),
    ):
        assert (answer.status_code, answer.json()) == (200, {"message": "The offsets are others now"})


def test_a_dry_run_shows_the_difference(client: httpx2.Client, herder: Any) -> None:
    change = {"partition": {"filename": "f"}, "before": {"position": 3}, "after": None}
    expected = {"message": "The offsets are others now", "changes": [change]}
    answer = client.patch("/connectors/c/offsets?dryRun=true", json=OFFSETS, headers=ANY)
    assert (answer.status_code, answer.json()) == (200, expected)
    assert herder.asked[1].dry_run
    answer = client.delete("/connectors/c/offsets?dryRun=true", headers=ANY)
    assert (answer.status_code, answer.json()) == (200, expected)
    assert herder.asked == ("c", OffsetsChange(None, dry_run=True))


def test_bounds_are_added_on_request(client: httpx2.Client, herder: Any) -> None:
    assert client.get("/connectors/c/offsets").json() == {"offsets": []}
    assert client.get("/connectors/c/offsets?expand=bounds").json() == {"offsets": [], "bounds": None}
    partition = {"kafka_topic": "t", "kafka_partition": 0}
    herder.bounds["c"] = OffsetBounds("earliest", (PartitionBounds(partition, 4, 10),))
    bounds = {"reset": "earliest", "partitions": [{"partition": partition, "first": 4, "end": 10}]}
    assert client.get("/connectors/c/offsets?expand=bounds&expand=other").json() == {"offsets": [], "bounds": bounds}


def test_null_deletes_an_offset(client: httpx2.Client, herder: Any) -> None:
    for entry in ({"partition": {}, "offset": None}, {"partition": {}}):
        assert client.patch("/connectors/c/offsets", json={"offsets": [entry]}).status_code in (200, 204)
        assert herder.asked[1].offsets == (ConnectorOffset({}, None),)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", "Malformed JSON"),
        ("{", "Malformed JSON"),
        ("[" * 100_000, "Malformed JSON"),
        ("null", "JSON object"),
        ("[]", "JSON object"),
        ("{}", "not empty"),
        ('{"offsets": null}', "not empty"),
        ('{"offsets": []}', "not empty"),
        ('{"offsets": {}}', "not empty"),
        ('{"offsets": [null]}', "must be an object with 'partition'"),
        ('{"offsets": [{"offset": {}}]}', "'partition'"),
        ('{"offsets": [{"partition": null, "offset": {}}]}', "'partition'"),
        ('{"offsets": [{"partition": "p", "offset": {}}]}', "'partition'"),
        ('{"offsets": [{"partition": {}, "offset": 3}]}', "object or null"),
        ('{"offsets": [{"partition": {}, "offset": {}, "offest": 1}]}', "Unrecognized field 'offest'"),
        ('{"offset": []}', "Unrecognized field 'offset'"),
    ],
)
def test_a_body_that_cannot_be_meant_is_a_400(client: httpx2.Client, herder: Any, body: str, text: str) -> None:
    answer = client.patch("/connectors/c/offsets", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and answer.json()["error_code"] == 400, answer.text
    assert text in answer.json()["message"]
    assert herder.asked is None


@pytest.mark.parametrize(
    ("error", "status", "again"),
    [
        (BadRequestError("not stopped"), 400, False),
        (RebalanceNeededError("wait"), 409, True),
        (ActiveGroupError("members"), 409, True),
    ],
)
def test_refusals(client: httpx2.Client, herder: Any, error: Exception, status: int, again: bool) -> None:
    herder.error = error
    for answer in (client.patch("/connectors/c/offsets", json=OFFSETS), client.delete("/connectors/c/offsets")):
        assert answer.status_code == status and answer.json()["message"] == str(error)
        assert ("retry-after" in answer.headers) is again
