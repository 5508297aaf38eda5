# SPDX-License-Identifier: Apache-2.0
"""The REST API is what /openapi.json says of it, whatever is sent: requests made from the description by schemathesis.

A real herder answers over a real broker and real HTTP; only the engine is left out, so a connector costs nothing.
"""

from __future__ import annotations

import itertools
from typing import Any, cast

import httpx2
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks

from headrace.rest.app import create_app
from tests.tiers import examples

KNOWN = {"config": {"connector.class": "VerifiableSource", "topic": "t", "throughput": "1"}}

load_all_checks()
WANTED = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "unsupported_method",
        "allow_header_conformance",
    )
]


class NoHerder:
    """In the place of a herder: the description needs none."""

    def __getattr__(self, name: str) -> None: ...


described = schemathesis.openapi.from_dict(create_app(cast(Any, NoHerder())).openapi())
turns = itertools.count()


@described.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Every second request is to a connector that is there."""
    if path_parameters and "connector" in path_parameters and next(turns) % 2:
        path_parameters["connector"] = "known"
    return path_parameters


@described.hook
def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    """Previews and streams take as long as the client gives them."""
    if context.operation.path == "/events":
        return {**(query or {}), "seconds": 1}
    if query and context.operation.path.endswith("/preview") and isinstance(query.get("timeout"), int):
        query["timeout"] = min(query["timeout"], 2)
    return query


@described.parametrize()
@settings(
    max_examples=examples(6), derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
def test_every_answer_is_as_described(case: Any, idle_api: httpx2.Client) -> None:
    if case.operation.path.startswith("/connectors/{"):
        idle_api.post("/connectors", json={"name": "known", **KNOWN})
    case.call_and_validate(base_url=str(idle_api.base_url).rstrip("/"), checks=WANTED, timeout=15)
