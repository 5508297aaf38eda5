# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.task.source.transaction_boundary import (
    ConnectorBoundary,
    End,
    IntervalBoundary,
    PollBoundary,
    Step,
    WorkerTransactionContext,
    create_boundary,
)

NOTHING, COMMIT, ABORT = End.NOTHING, End.COMMIT, End.ABORT


@pytest.fixture
def context() -> WorkerTransactionContext:
    return WorkerTransactionContext()


@pytest.fixture
def batch(record: Any) -> list[Any]:
    return [record(str(n), n) for n in range(4)]


def test_poll_ends_with_each_batch() -> None:
    assert PollBoundary().plan(3, None, 0.0) == (Step(3, COMMIT),)
    assert PollBoundary().plan(0, (), 0.0) == ()
    assert PollBoundary().final() is COMMIT


def test_interval_ends_with_the_first_poll_after_it() -> None:
    boundary = IntervalBoundary(10.0, 100.0)
    assert boundary.plan(3, None, 109.9) == (Step(3, NOTHING),)
    assert boundary.plan(0, (), 109.9) == ()
    assert boundary.plan(3, None, 110.0) == (Step(3, COMMIT),)
    assert boundary.plan(3, None, 119.9) == (Step(3, NOTHING),)
    assert boundary.plan(0, (), 120.0) == (Step(0, COMMIT),), "records must not wait for further ones"
    assert boundary.final() is COMMIT


def test_connector_ends_nothing_by_itself(context: WorkerTransactionContext, batch: list[Any]) -> None:
    boundary = ConnectorBoundary(context)
    assert boundary.plan(4, batch, 0.0) == (Step(4, NOTHING),)
    assert boundary.plan(0, (), 0.0) == ()
    assert boundary.final() is NOTHING


def test_connector_ends_at_the_batch_once(context: WorkerTransactionContext, batch: list[Any]) -> None:
    boundary = ConnectorBoundary(context)
    context.commit_transaction()
    context.commit_transaction()
    assert boundary.plan(4, batch, 0.0) == (Step(4, COMMIT),)
    assert boundary.plan(4, batch, 0.0) == (Step(4, NOTHING),)
    context.abort_transaction()
    assert boundary.plan(0, (), 0.0) == (Step(0, ABORT),)


def test_connector_ends_within_a_batch(context: WorkerTransactionContext, batch: list[Any]) -> None:
    boundary = ConnectorBoundary(context)
    context.commit_transaction(batch[0])
    context.abort_transaction(batch[2])
    assert boundary.plan(4, batch, 0.0) == (Step(1, COMMIT), Step(3, ABORT), Step(4, NOTHING))
    context.commit_transaction(batch[3])
    assert boundary.plan(4, batch, 0.0) == (Step(4, COMMIT),)
    context.commit_transaction(batch[1])
    context.abort_transaction()
    assert boundary.plan(4, batch, 0.0) == (Step(2, COMMIT), Step(4, ABORT))


def test_connector_ends_a_table_as_a_whole_only(context: WorkerTransactionContext, batch: list[Any]) -> None:
    context.commit_transaction()
    assert ConnectorBoundary(context).plan(4, None, 0.0) == (Step(4, COMMIT),)
    context.commit_transaction(batch[0])
    with pytest.raises(ConnectError, match="Arrow table"):
        ConnectorBoundary(context).plan(4, None, 0.0)


def test_what_the_task_asked_for_last_holds_at_its_end(context: WorkerTransactionContext) -> None:
    context.abort_transaction()
    assert ConnectorBoundary(context).final() is ABORT


def test_a_record_counts_by_its_identity(context: WorkerTransactionContext, batch: list[Any]) -> None:
    equal = batch[1].replace()
    assert equal == batch[1]
    context.commit_transaction(equal)
    with pytest.raises(ConnectError, match="not in the batch"):
        ConnectorBoundary(context).plan(4, batch, 0.0)


@pytest.mark.parametrize("at_record", [False, True])
def test_commit_and_abort_contradict_each_other(
    context: WorkerTransactionContext, batch: list[Any], at_record: bool
) -> None:
    place = batch[0] if at_record else None
    context.commit_transaction(place)
    with pytest.raises(ConnectError, match="abort where it has already asked for commit"):
        context.abort_transaction(place)
    context.abort_transaction(batch[1])
    with pytest.raises(ConnectError, match="commit where it has already asked for abort"):
        context.commit_transaction(batch[1])


def test_the_boundary_of_a_connector(context: WorkerTransactionContext, clock: Any) -> None:
    assert isinstance(create_boundary({}, 60.0, clock, context), PollBoundary)
    assert isinstance(create_boundary({"transaction.boundary": "CONNECTOR"}, 60.0, clock, context), ConnectorBoundary)
    given = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "1500"}
    for config, interval in ((given, 1.5), ({"transaction.boundary": "interval"}, 60.0)):
        boundary = create_boundary(config, 60.0, clock, context)
        assert isinstance(boundary, IntervalBoundary)
        assert boundary.interval == interval
        assert boundary.plan(1, None, clock.now + interval - 0.1) == (Step(1, NOTHING),)
        assert boundary.plan(1, None, clock.now + interval) == (Step(1, COMMIT),)
    with pytest.raises(ConfigError, match=r"'poll!' for configuration transaction\.boundary: must be poll, interval"):
        create_boundary({"transaction.boundary": "poll!"}, 60.0, clock, context)
