# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.api.errors import ConnectError
from headrace.distributed.group.connect_protocol import (
    ConnectProtocol,
    MemberMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)
from headrace.distributed.group.foreign_members import foreign_group_error, sort_members
from headrace.distributed.group.group_leader import GroupLeader
from headrace.model.assignment import Assignment, AssignmentError, GroupTopics
from headrace.model.cluster_config_state import ClusterConfigState
from headrace.model.ids import ConnectorTaskId
from tests.support.mutated_records import CASES

OURS, THEIRS = GroupTopics("a-configs", "a-offsets", "a-status"), GroupTopics("b-configs", "b-offsets", "b-status")
CONFIG = ClusterConfigState(offset=5, connector_configs={"c": {}}, task_counts={"c": 2})
SESSIONED = ConnectProtocol.SESSIONED
WORK = Assignment("x", "http://x/", 5, ("c",), (ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)), topics=OURS)


def member(topics: GroupTopics | None = OURS, owned: Assignment | None = None, offset: int = 5) -> bytes:
    return encode_metadata(MemberMetadata("http://m/", offset, owned, topics), SESSIONED)


def lead(leader: GroupLeader | None = None, /, **members: bytes) -> dict[str, Assignment]:
    leader = leader or GroupLeader(0.0, lambda: 0.0)
    assigned = leader.assign("me", SESSIONED, members, CONFIG)
    assert assigned.keys() == members.keys()
    leader.confirm_round(True, SESSIONED)
    return {id: decode_assignment(data) for id, data in assigned.items()}


@pytest.mark.parametrize("protocol", ConnectProtocol)
@pytest.mark.parametrize("owned", [None, WORK])
def test_topics_lie_behind_what_java_reads(protocol: ConnectProtocol, owned: Assignment | None) -> None:
    plain = encode_metadata(MemberMetadata("http://m/", 7, owned), protocol)
    said = encode_metadata(MemberMetadata("http://m/", 7, owned, OURS), protocol)
    assert said.startswith(plain) and decode_metadata(said).topics == OURS
    assert decode_metadata(plain).topics is None and decode_metadata(plain + b"something else").topics is None
    silent = encode_assignment(Assignment("l", "u", 3), protocol)
    assert encode_assignment(Assignment("l", "u", 3, topics=OURS), protocol).startswith(silent)
    assert decode_assignment(encode_assignment(Assignment("l", "u", 3, topics=OURS), protocol)).topics == OURS


def test_a_foreign_member_gets_nothing_and_changes_no_assignment() -> None:
    leader = GroupLeader(0.0, lambda: 0.0)
    before = lead(leader, me=member())["me"]
    assert before.connectors == ("c",) and len(before.tasks) == 2
    after = lead(leader, me=member(owned=before), other=member(THEIRS, offset=10**9), junk=b"\xff\x00junk")
    for each in (after["me"], after["other"], after["junk"]):
        assert (each.connectors, each.tasks, each.revoked_connectors, each.revoked_tasks) == ((), (), (), ())
        assert each.error is AssignmentError.NONE and each.topics == OURS
    assert after["me"].config_offset == 5


def test_a_leader_that_comes_to_a_group_of_others_goes() -> None:
    answer = lead(me=member(THEIRS), one=member(OURS, WORK), two=member(OURS))
    assert (answer["me"].topics, answer["me"].leader_url) == (OURS, "http://m/")
    assert {answer[id].error for id in ("one", "two")} == {AssignmentError.CONFIG_MISMATCH}
    assert answer["one"].config_offset == -1, "they would wait for an offset of another topic"


def test_where_nothing_runs_yet_they_go_who_are_fewer() -> None:
    rival = sort_members("me", {"me": member(THEIRS), "a": member(), "b": member()}, new=True).yield_to
    assert rival is not None and rival.topics == OURS
    assert sort_members("me", {"me": member(THEIRS), "a": member()}, new=True).yield_to is None
    assert sort_members("me", {"me": member(THEIRS), "a": member(), "b": member()}, new=False).yield_to is None


def test_workers_that_do_not_say_belong_to_the_group() -> None:
    found = sort_members("me", {"me": member(), "java": member(None)}, new=True)
    assert found.ours.keys() == {"me", "java"} and not found.foreign


def test_the_message_names_both() -> None:
    message = str(foreign_group_error("g", OURS, THEIRS, "http://leader:8083/"))
    for part in ("group.id=g", "http://leader:8083/", str(OURS), str(THEIRS), "a group.id of its own"):
        assert part in message


VALID = [member(), member(None, WORK), member(THEIRS, WORK), encode_assignment(WORK, SESSIONED)]


@settings(max_examples=CASES, deadline=None)
@given(st.sampled_from(VALID), st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=4)), max_size=4))
@example(b"\x00\x02\xff\xff", [])
@example(b"\x00\x02\x7f\xff" + b"\xff" * 40, [])
@example(b"\x00\x02\x00\x01u" + b"\x00" * 8 + b"\x00\x00\x00\x04\x00\x01\x00\x63", [])
def test_whatever_a_member_says_it_is_read_or_refused(data: bytes, spoils: list[tuple[int, bytes]]) -> None:
    for at, what in spoils:
        data = data[: at % (len(data) + 1)] + what + data[at % (len(data) + 1) + 1 :]
    for decode in (decode_metadata, decode_assignment):
        try:
            decode(data)
        except ConnectError:
            continue
    assert lead(me=member(), stranger=data)["me"].leader == "me"
