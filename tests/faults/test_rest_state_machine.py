# SPDX-License-Identifier: Apache-2.0
"""Any requests in any order, to either of two workers, one of which is killed now and then."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.rest_cluster import RestCluster
from tests.faults.rest_machine import RestStateMachine

LENGTH = 12
ASKED = int(os.environ.get("HEADRACE_STATE_MACHINE_STEPS", "0"))
EXAMPLES = max(2, ASKED // LENGTH)
SEED = 99
"""Of a run by default: its two examples have most kinds of steps in them."""


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCluster]:
    with RestCluster(tmp_path_factory.mktemp("state-machine")) as running:
        RestStateMachine.cluster = running
        yield running


@pytest.fixture
def machine(cluster: RestCluster) -> Iterator[RestStateMachine]:
    made = RestStateMachine()
    yield made
    made.teardown()


@pytest.mark.timeout(600 + 30 * LENGTH * EXAMPLES)
def test_any_requests_in_any_order() -> None:
    """HEADRACE_STATE_MACHINE_STEPS makes about so many steps, others each time, or those of --hypothesis-seed."""
    if not ASKED:
        seed(SEED)(RestStateMachine)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        RestStateMachine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=LENGTH,
            database=None,
            deadline=None,
            phases=(Phase.generate,),  # shrinking would take hours
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_connector_created_again_with_fewer_tasks_fences_those_of_its_predecessor(machine: RestStateMachine) -> None:
    machine.create(0, tasks=3)
    machine.freeze_task(2)
    machine.delete(1, wait=False)
    machine.create(0, tasks=1)


def test_a_task_that_stops_slowly_leaves_no_status_behind(machine: RestStateMachine) -> None:
    machine.create(0, tasks=2, stop_ms=600)
    machine.delete(0)


def test_a_task_that_is_no_more_is_not_restarted(machine: RestStateMachine) -> None:
    machine.create(0, tasks=2)
    machine.stop(1, wait=False)
    machine.pause(0)
    machine.restart_task(0, 0)
