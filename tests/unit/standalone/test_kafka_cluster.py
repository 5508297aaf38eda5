# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from typing import Any

import pytest

from headrace.api.errors import ConnectError, RetriableError
from headrace.model.backoff import ExponentialBackoff
from headrace.standalone import sole_member
from headrace.standalone.sole_member import KafkaCluster
from headrace.worker.stages import Stages
from tests.support.polling import wait_for


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sole_member, "_BACKOFF", ExponentialBackoff(0.01, 5.0))


def cluster(*answers: Any) -> tuple[KafkaCluster, list[BaseException]]:
    """A cluster that answers so, and then for ever as the last time, and how the search failed."""
    left, failures = list(answers), []

    def find() -> str:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    made = KafkaCluster(find, Stages(time.monotonic))
    made.start(failures.append)
    return made, failures


def test_brokers_are_waited_for() -> None:
    away = RetriableError("no answer")
    found, failures = cluster(away, away, away, "the-id")
    wait_for(lambda: found.id() == "the-id", 5)
    assert found.trouble() is None
    assert failures == []


def test_trouble_is_named_until_it_stops() -> None:
    found, failures = cluster(RetriableError("no answer"))
    wait_for(lambda: found.trouble() == "no answer", 5)
    assert found.id() is None
    found.stop()
    assert failures == []


def test_what_waiting_cannot_heal_is_reported() -> None:
    error = ConnectError("not authorized")
    found, failures = cluster(error)
    wait_for(lambda: failures == [error], 5)
    assert found.id() is None
