# SPDX-License-Identifier: Apache-2.0
"""Requests to other workers, which a worker without internal REST cannot send."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from starlette.types import Message, Receive, Scope, Send

from headrace.api.errors import RetriableError
from headrace.cli.distributed import Variant
from headrace.cli.mirror.mirror_config import INTERNAL_REST, MirrorConfig, Pair
from headrace.cli.mirror.pair_worker import NoInternalRest, _variant

URL = "http://leader:1"


@pytest.mark.parametrize(
    "request_",
    [
        lambda requests: requests.put_task_configs(URL, "c", [], None),
        lambda requests: requests.put_logger_level(URL, "root", "INFO", None),
        lambda requests: requests.fence_zombies(URL, "c", None),
        lambda requests: requests.worker_health(URL, None, None),
        lambda requests: requests.worker_history(URL, None, None),
        lambda requests: requests.worker_report(URL, None),
    ],
)
def test_each_names_the_property_that_allows_it(request_: Callable[[NoInternalRest], None]) -> None:
    with pytest.raises(RetriableError, match=r"dedicated\.mode\.enable\.internal\.rest is false.* set it to true"):
        request_(NoInternalRest())


@pytest.mark.parametrize(
    ("given", "sends"), [({INTERNAL_REST: "true"}, True), ({INTERNAL_REST: "false"}, False), ({}, False)]
)
def test_the_property_decides_whether_workers_send_and_answer_them(given: dict[str, str], sends: bool) -> None:
    servers = {f"{cluster}.bootstrap.servers": "x:1" for cluster in "AB"}
    variant = _variant(MirrorConfig({"clusters": "A,B", **servers, **given}), Pair("A", "B"))
    assert (variant.leader is None) is sends
    assert isinstance(variant.leader, NoInternalRest) is not sends
    assert answer(variant) == ("served" if sends else 404)


def answer(variant: Variant) -> object:
    """Return what another worker's request gets: "served" by the REST API behind, or a code."""
    answers: list[object] = []

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        answers.append("served")

    async def no_body() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        answers.append(message.get("status"))

    path = "/connectors/c/tasks"
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "headers": []}
    asyncio.run(variant.restrict(api)(scope, no_body, send))
    return answers[0]
