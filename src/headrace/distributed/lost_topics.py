# SPDX-License-Identifier: Apache-2.0
"""Checks for internal topics that were lost while no worker of the group was running. Pure.

Deleted topics are created again at the next start, or by brokers that create topics by themselves, and an empty topic
does not show that it held records before. The records of the other internal topics do.
"""

from __future__ import annotations

from collections.abc import Collection

from headrace.config.distributed_config import RECREATED
from headrace.kafka.log.topic_identity import TopicLostError
from headrace.model.cluster_config_state import ClusterConfigState, OffsetsTopic

_NAMES_SHOWN = 5


def check_offsets_topic(config: ClusterConfigState, found: OffsetsTopic) -> None:
    """Raise TopicLostError if the offsets topic was created again since a leader last noted its id in ``config``."""
    noted = config.offsets_topic
    if noted is None or not noted.id or not found.id or noted.name != found.name or noted.id == found.id:
        return
    raise TopicLostError(
        f"Topic '{found.name}' (offset.storage.topic) was deleted and made again since the group last used it: its id "
        f"was {noted.id}, and is {found.id} now. Source connectors would begin from what is in it and write records "
        f"again. Restore its records from a backup if they are not there, then start a worker with {RECREATED}=accept"
    )


def check_config_topic(config: ClusterConfigState, topic: str, connectors: Collection[str]) -> None:
    """Raise TopicLostError if the config topic is empty though there are statuses of ``connectors``."""
    if config.offset >= 0 or not connectors:
        return
    names = ", ".join(sorted(connectors)[:_NAMES_SHOWN])
    more = f" and {len(connectors) - _NAMES_SHOWN} more" if len(connectors) > _NAMES_SHOWN else ""
    raise TopicLostError(
        f"Topic '{topic}' (config.storage.topic) is empty, but the status topic knows of connectors: {names}{more}. "
        f"Their configurations are lost. Restore the topic's records from a backup; or, to begin with no connectors, "
        f"start a worker with {RECREATED}=accept"
    )
