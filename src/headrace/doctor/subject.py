# SPDX-License-Identifier: Apache-2.0
"""The worker that is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.config.distributed_config import DistributedConfig
from headrace.config.worker_config import WorkerConfig
from headrace.doctor.kafka_view import KafkaView


@dataclass(frozen=True, slots=True)
class Subject:
    """A worker by its properties. Without a file there is neither a ``file`` nor a ``config``, nor a ``mistake``.

    ``raw`` has the properties as they are in the file, with references to config providers; ``mistake`` is the message
    about properties with which no worker starts, and then there is no ``config``. ``kafka`` has the answers of brokers
    that checks share.
    """

    file: str | None = None
    raw: Mapping[str, str] = field(default_factory=dict)
    config: WorkerConfig | None = None
    mistake: str | None = None
    kafka: KafkaView = field(default_factory=KafkaView, compare=False)

    @property
    def distributed(self) -> DistributedConfig | None:
        """The configuration of a worker in a group; None for a standalone worker, and without a valid file."""
        return self.config if isinstance(self.config, DistributedConfig) else None

    @property
    def spark(self) -> Mapping[str, str]:
        """The properties of Spark."""
        return {name: text for name, text in self.raw.items() if name.startswith("spark.")}
