# SPDX-License-Identifier: Apache-2.0
"""The error for a connector that cannot use its offsets topic."""

from __future__ import annotations

from typing import Final

from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.config.source_connector_config import OFFSETS_TOPIC, own_offsets_topic
from headrace.kafka.errors import AuthorizationError
from headrace.kafka.log.topic_identity import TopicLostError
from headrace.model.cluster_config_state import Config

_OTHER_CLUSTER: Final = "producer.override.bootstrap.servers"


def unusable(connector: Config, topic: str, servers: str, error: ConnectError) -> ConfigError | None:
    """Return the error for a topic that cannot be created, read or written to; None if ``error`` may pass by itself.

    ``connector`` is the configuration, ``servers`` are those of the cluster that the connector produces to.
    """
    if isinstance(error, RetriableError):
        return None
    return ConfigError(
        f"Connector {connector['name']} keeps its offsets in topic '{topic}' of the cluster at {servers} "
        f"({_why(connector, topic)}), which it cannot use: {str(error).rstrip('.')}. {_advice(error)} Then restart it",
        OFFSETS_TOPIC,
        topic,
    )


def _why(connector: Config, topic: str) -> str:
    if own_offsets_topic(connector) is not None:
        return f"{OFFSETS_TOPIC}={topic}"
    if _OTHER_CLUSTER in connector:
        return f"for {_OTHER_CLUSTER}={connector[_OTHER_CLUSTER]} are not the worker's"
    return "the worker's offset.storage.topic"


def _advice(error: ConnectError) -> str:
    if isinstance(error, AuthorizationError):
        return (
            "Let its admin principal (admin.override.*) Describe the topic, and Create it unless it is there already, "
            "compacted; let its consumer's (consumer.override.*) Read it, and its producer's (producer.override.*) "
            "Write it."
        )
    if isinstance(error, TopicLostError):
        return (
            "Restart the workers: they make it again, and go on from the copies of its offsets in the worker's topic."
        )
    return f"Make the topic beforehand, compacted, or name another one in {OFFSETS_TOPIC}."
