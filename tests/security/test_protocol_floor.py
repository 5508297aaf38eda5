# SPDX-License-Identifier: Apache-2.0
"""A member that would have the whole group speak a protocol without signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import httpx2
import pytest

from headrace.distributed.group.connect_protocol import ConnectProtocol, MemberMetadata, encode_metadata
from headrace.kafka.group.group_membership import GroupMember, GroupSettings
from headrace.model.assignment import Assignment
from tests.support.polling import wait_for
from tests.support.worker_process import WorkerProcess

COMPATIBLE = ConnectProtocol.COMPATIBLE


class Foreigner:
    """Speaks an older protocol alone."""

    def __init__(self, worker: WorkerProcess) -> None:
        settings = GroupSettings(worker.properties["group.id"], 6.0, 1.0, 10.0)
        self.member = GroupMember({"bootstrap_servers": worker.properties["bootstrap.servers"]}, settings, self)
        self.joined = False
        self.member.start()

    def ready_to_join(self) -> bool:
        return True

    def offered_protocols(self) -> Sequence[tuple[str, bytes]]:
        metadata = MemberMetadata("http://127.0.0.1:1/", 0, Assignment("", "", 0))
        return [(COMPATIBLE.group_name, encode_metadata(metadata, COMPATIBLE))]

    def assign(self, leader_id: str, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return dict.fromkeys(members, b"")

    def on_assigned(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self.joined = True

    def on_lost(self, reason: str) -> None: ...


Come = Callable[[WorkerProcess], Foreigner]


@pytest.fixture
def come() -> Iterator[Come]:
    there: list[Foreigner] = []

    def start(worker: WorkerProcess) -> Foreigner:
        there.append(Foreigner(worker))
        return there[-1]

    yield start
    for each in there:
        each.member.leave(2.0)


def test_a_group_with_authentication_is_joined_by_no_worker_that_cannot_sign(
    locked_worker: WorkerProcess, come: Come
) -> None:
    foreigner = come(locked_worker)
    wait_for(lambda: foreigner.member.trouble() or foreigner.joined, 30, "an answer of the group's coordinator")
    assert not foreigner.joined and "no protocol" in str(foreigner.member.trouble())
    assert locked_worker.rest.get("/health").status_code == 200
    unsigned = httpx2.post(f"http://127.0.0.1:{locked_worker.port}/connectors/c/tasks", json=[])
    assert unsigned.status_code == 400 and "has to be signed" in unsigned.text


def test_a_worker_with_authentication_does_not_start_without_signatures(own_worker: WorkerProcess) -> None:
    own_worker.properties |= {
        "connect.protocol": "compatible",
        "rest.extension.classes": "BasicAuthSecurityRestExtension",
    }
    assert own_worker.launch().wait(60) != 0
    reported = own_worker.log
    assert (
        "connect.protocol.minimum" in reported and "rest.extension.classes" in reported and "Traceback" not in reported
    )


def test_a_worker_takes_no_part_in_a_group_that_speaks_too_little(own_worker: WorkerProcess, come: Come) -> None:
    own_worker.properties["connect.protocol.minimum"] = "sessioned"
    foreigner = come(own_worker)
    wait_for(lambda: foreigner.joined, 30, "the foreign member alone in the group")
    own_worker.start()

    def reported() -> bool:
        answer = own_worker.rest.get("/health")
        return answer.status_code == 503 and "connect.protocol.minimum" in answer.json()["message"]

    wait_for(reported, 60, lambda: own_worker.rest.get("/health").text)
    wait_for(lambda: "connect.protocol.minimum" in own_worker.log, 10, lambda: own_worker.log)
    foreigner.member.leave(5.0)
    own_worker.await_answer(path="/health")
