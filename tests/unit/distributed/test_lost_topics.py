# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from headrace.distributed.stores import check_config_topic, check_offsets_topic
from headrace.kafka.log.topic_identity import TopicLostError
from headrace.model.cluster_config_state import ClusterConfigState, OffsetsTopic
from headrace.storage import config_records
from headrace.storage.config_log import ConfigLog

NOTED = ClusterConfigState(offset=5, offsets_topic=OffsetsTopic("o", "A"))


def test_an_offsets_topic_that_was_made_again_is_refused() -> None:
    with pytest.raises(TopicLostError, match=r"Topic 'o' .* its id was A, and is B now\. .*recreated=accept"):
        check_offsets_topic(NOTED, OffsetsTopic("o", "B"))


@pytest.mark.parametrize("found", [OffsetsTopic("o", "A"), OffsetsTopic("other", "B"), OffsetsTopic("o", "")])
def test_the_noted_one_another_name_and_brokers_without_ids_are_taken(found: OffsetsTopic) -> None:
    check_offsets_topic(NOTED, found)


def test_nothing_noted_is_nothing_lost() -> None:
    check_offsets_topic(ClusterConfigState(), OffsetsTopic("o", "B"))
    check_offsets_topic(ClusterConfigState(offsets_topic=OffsetsTopic("o", "")), OffsetsTopic("o", "B"))


def test_an_empty_config_topic_with_statuses_is_refused() -> None:
    names = [f"c{n}" for n in range(7)]
    with pytest.raises(TopicLostError, match=r"Topic 'g-configs' .* c0, c1, c2, c3, c4 and 2 more"):
        check_config_topic(ClusterConfigState(), "g-configs", names)
    check_config_topic(ClusterConfigState(), "g-configs", [])
    check_config_topic(ClusterConfigState(offset=1), "g-configs", names)


def test_the_record_of_the_offsets_topic() -> None:
    log = ConfigLog()
    ((key, value),) = config_records.encode(config_records.OffsetsTopicRecord(OffsetsTopic("o", "A")))
    log.apply(key, value, 0)
    for value in (b"{}", b'{"topic":1,"id":"B"}', b'{"topic":"o","id":null}', b"[]", None):
        log.apply(b"offsets-topic", value, 1)
    assert log.state.offsets_topic == OffsetsTopic("o", "A")
