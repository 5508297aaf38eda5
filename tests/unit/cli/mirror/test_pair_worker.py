# SPDX-License-Identifier: Apache-2.0
"""Requests to other workers that a worker without internal REST cannot send."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.api.errors import RetriableError
from headrace.cli.mirror.pair_worker import NoInternalRest

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
