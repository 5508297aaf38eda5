# SPDX-License-Identifier: Apache-2.0
"""The last hour of throughput and lag: what is sampled, how it ages, and how workers' parts are added."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping

import pytest

from headrace.metrics.client_metrics import FETCHES
from headrace.metrics.connect_metric import tagged
from headrace.model.ids import ConnectorTaskId
from headrace.worker import rate_history
from headrace.worker.rate_history import PERIOD_S, POINTS, History, HistorySampler, RateHistory, added, history_of
from tests.support.polling import wait_for

START = 1_700_000_010.0
NONE = (None,) * POINTS
Figures = Mapping[ConnectorTaskId, Mapping[str, float]]


def source(rate: float) -> Figures:
    return {ConnectorTaskId("c", 0): {"source-record-write-rate": rate, "other": 9.0}}


def lag(partition: int) -> str:
    return tagged(FETCHES, "records-lag", client_id="x", topic="t", partition=str(partition))


def newest(values: tuple[float | None, ...], count: int = 3) -> list[float | None]:
    assert len(values) == POINTS
    return list(values[-count:])


def test_tasks_of_a_connector_are_added_up() -> None:
    history = RateHistory()
    sinks = {
        ConnectorTaskId("s", 0): {"sink-record-send-rate": 2.0, lag(0): 5.0, lag(1): 7.0, "sink-record-lag-max": 7.0},
        ConnectorTaskId("s", 1): {"sink-record-send-rate": 3.0, lag(2): 1.0},
    }
    history.sample(START, {**source(1.5), **sinks})
    assert newest(history.of("c").records_per_second) == [None, None, 1.5]
    assert history.of("c").lag == NONE
    assert newest(history.of("s").records_per_second) == [None, None, 5.0]
    assert newest(history.of("s").lag) == [None, None, 13.0]
    assert newest(history.of(None).records_per_second) == [None, None, 6.5]
    assert newest(history.of(None).lag) == [None, None, 13.0]
    assert history.of("unknown").records_per_second == NONE


def test_a_step_without_a_sample_has_no_value() -> None:
    history = RateHistory()
    for steps, rate in ((0, 1.0), (1, 2.0), (4, 3.0)):
        history.sample(START + steps * PERIOD_S, source(rate))
    found = history.of("c")
    assert newest(found.records_per_second, 6) == [None, 1.0, 2.0, None, None, 3.0]
    assert found.until == (int(START) // PERIOD_S + 4) * PERIOD_S


@pytest.mark.parametrize("back", [0.0, 5.0, 3600.0])
def test_a_clock_that_is_set_back_adds_nothing(back: float) -> None:
    history = RateHistory()
    history.sample(START, source(1.0))
    history.sample(START - back, source(2.0))
    assert newest(history.of("c").records_per_second) == [None, None, 1.0]


@pytest.mark.parametrize("steps", [[1] * POINTS, [POINTS], [10 * POINTS]])
def test_a_connector_that_is_gone_for_an_hour_is_forgotten(steps: list[int]) -> None:
    history = RateHistory()
    history.sample(START, source(1.0))
    for passed in itertools.accumulate(steps):
        history.sample(START + passed * PERIOD_S, {})
    assert history.of("c").records_per_second == NONE
    assert not history._rates


def test_a_connector_that_comes_back_keeps_its_past() -> None:
    history = RateHistory()
    for steps, tasks in enumerate((source(1.0), {}, source(2.0))):
        history.sample(START + steps * PERIOD_S, tasks)
    assert newest(history.of("c").records_per_second) == [1.0, None, 2.0]


def test_parts_of_workers_are_added_where_they_belong() -> None:
    until = 1000 * PERIOD_S
    here = History(until, (*NONE[:-2], 1.0, 2.0), NONE)
    behind = History(until - PERIOD_S, (*NONE[:-2], 10.0, 20.0), (*NONE[:-1], 4.0))
    never = RateHistory().of(None)
    found = added([here, behind, never])
    assert found.until == until
    assert newest(found.records_per_second, 4) == [None, 10.0, 21.0, 2.0]
    assert newest(found.lag, 4) == [None, None, 4.0, None]


def test_a_part_passes_through_json() -> None:
    part = History(PERIOD_S, (*NONE[:-1], 1.5), NONE)
    assert history_of(part.to_json()) == part
    for wrong in ({}, {**part.to_json(), "lag": [1.0]}, {**part.to_json(), "until": None}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            history_of(wrong)


def test_the_sampler_samples_at_each_step_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_history, "PERIOD_S", 0.01)
    history = RateHistory()
    sampler = HistorySampler(history, lambda: source(1.0), time.time)
    sampler.start()
    wait_for(lambda: newest(history.of("c").records_per_second) == [1.0, 1.0, 1.0], 20, "three samples")
    sampler.stop()
    wait_for(lambda: not sampler._thread.is_alive(), 20, "the end of the thread")
