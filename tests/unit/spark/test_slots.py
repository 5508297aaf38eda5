# SPDX-License-Identifier: Apache-2.0
"""The reports about tasks that wait for cores: which tasks get them, and how often."""

from __future__ import annotations

import pytest

from headrace.spark.engine.slots import Cores, SlotWatch, shortage

MASTER = "spark://m:7077"


class Task:
    def __init__(self, key: str) -> None:
        self.key = key
        self.without_process = True
        self.reported: list[str] = []

    def report_waiting(self, reason: str) -> None:
        self.reported.append(reason.partition(":")[0])


class Cluster:
    """An engine, with a clock that the test moves."""

    master = MASTER
    cores_per_task = 1

    def __init__(self, *keys: str, executors: int = 1, total: int = 2, busy: int = 2) -> None:
        self.tasks = [Task(key) for key in keys]
        self.has: Cores | None = Cores(executors, total, busy)
        self.asked: list[str] = []
        self.renewed = 0
        self.now = 0.0
        self._watch = SlotWatch(lambda: self.tasks, self, lambda: self.now)

    def unscheduled(self, group: str) -> bool:
        self.asked.append(group)
        return True

    def cores(self) -> Cores | None:
        return self.has

    def restart_if_forgotten(self) -> None:
        self.renewed += 1

    def look(self, *moments: float) -> None:
        for self.now in moments:
            self._watch.check_tasks()

    def reported(self) -> list[list[str]]:
        return [task.reported for task in self.tasks]


@pytest.mark.parametrize(
    ("waiting", "per_task", "cores", "start"),
    [
        (3, 1, Cores(2, 4, 4), "3 tasks wait for 3 more cores: spark.master=spark://m:7077 gives this worker 4 cores "
                               "on 2 executors, 4 of them in use. Each task needs 1 core as long as it runs: "),
        (1, 1, Cores(1, 1, 1), "1 task waits for 1 more core: spark.master=spark://m:7077 gives this worker 1 core "
                               "on 1 executor, 1 of them in use. "),
        (2, 2, Cores(1, 3, 2), "2 tasks wait for 3 more cores: "),
        (1, 1, Cores(1, 2, 1), "1 task waits for 1 more core: "),
        (2, 1, Cores(0, 0, 0), "2 tasks wait for 2 more cores: spark.master=spark://m:7077 gives this worker no "
                               "executor. Each task needs 1 core"),
    ],
)  # fmt: skip
def test_the_reason(waiting: int, per_task: int, cores: Cores, start: str) -> None:
    assert shortage(waiting, per_task, cores, MASTER).startswith(start)


def test_what_can_be_done_about_it() -> None:
    cores = Cores(1, 2, 2)
    assert shortage(1, 1, cores, MASTER).endswith("(spark.cores.max, spark.executor.instances), or have fewer tasks")
    local = shortage(1, 1, cores, "local[2,4]")
    assert "spark.master=local[2,4] gives this worker 2 cores" in local
    assert local.endswith(
        "give spark.master=local[N] a larger N, which may be more than the machine has, or have fewer tasks"
    )


def test_it_is_reported_after_a_moment_and_then_only_when_it_changes() -> None:
    cluster = Cluster("a", "b")
    cluster.look(0, 1, 2)
    assert cluster.reported() == [[], []]
    cluster.look(3, 4, 5)
    assert cluster.reported() == [["2 tasks wait for 2 more cores"]] * 2
    cluster.tasks[0].without_process = False
    cluster.look(6)
    assert cluster.reported()[1] == ["2 tasks wait for 2 more cores"], "too soon for a change"
    cluster.look(13)
    assert cluster.reported() == [
        ["2 tasks wait for 2 more cores"],
        ["2 tasks wait for 2 more cores", "1 task waits for 1 more core"],
    ]


def test_a_task_that_waits_again_is_reported_again() -> None:
    cluster = Cluster("a")
    cluster.look(0, 3)
    cluster.tasks[0].without_process = False
    cluster.look(4)
    cluster.tasks[0].without_process = True
    cluster.look(5, 6)
    assert len(cluster.tasks[0].reported) == 1
    cluster.look(8)
    assert len(cluster.tasks[0].reported) == 2


def test_of_free_cores_of_this_machine_nothing_is_reported() -> None:
    """A process that is slow to start waits for something else."""
    cluster = Cluster("a", "b", total=256, busy=1)
    cluster.look(0, 3)
    assert cluster.reported() == [["2 tasks wait for 1 more core"]] * 2, "each executor may have too few"
    cluster = Cluster("a", "b", total=256, busy=1)
    cluster.master = "local[256,4]"
    cluster.look(0, 3, 20)
    assert cluster.reported() == [[], []]
    cluster.has = Cores(1, 256, 255)
    cluster.look(21)
    assert cluster.reported() == [["2 tasks wait for 1 more core"]] * 2


def test_spark_is_not_asked_about_tasks_that_run() -> None:
    cluster = Cluster("a", "b")
    cluster.tasks[0].without_process = False
    cluster.look(0, 1)
    assert set(cluster.asked) == {"b"}


def test_nothing_is_reported_while_spark_is_away() -> None:
    cluster = Cluster("a")
    cluster.has = None
    cluster.look(0, 3, 20)
    assert cluster.reported() == [[]]
    assert cluster.renewed == 0


def test_a_cluster_that_gives_no_executor_for_long_is_asked_whether_it_knows_us() -> None:
    cluster = Cluster("a", executors=0, total=0, busy=0)
    cluster.look(0, 3, 6, 8)
    assert cluster.renewed == 0
    cluster.look(9, 10)
    assert cluster.renewed == 1
    cluster.look(15)
    assert cluster.renewed == 2
    cluster.has = Cores(1, 1, 1)
    cluster.look(16, 30)
    assert cluster.renewed == 2
