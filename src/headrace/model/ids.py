# SPDX-License-Identifier: Apache-2.0
"""Identifiers of tasks."""

from __future__ import annotations

from typing import NamedTuple


class ConnectorTaskId(NamedTuple):
    """A task of a connector; ``str()`` is ``connector-0`` as in Kafka Connect's logs. Ordered as a tuple.

    Java: ``org.apache.kafka.connect.util.ConnectorTaskId``.
    """

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"
