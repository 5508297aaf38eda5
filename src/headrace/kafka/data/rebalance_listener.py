# SPDX-License-Identifier: Apache-2.0
"""The part of a sink task that its consumer calls in rebalances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from headrace.api.sink import TopicPartition


class RebalanceListener(Protocol):
    """The callbacks of rebalances, called on the consumer's thread, within ``consume`` or a ``busy`` block's end.

    Their errors are raised by the next ``consume``.
    """

    def assigned(
        self, partitions: Sequence[TopicPartition], committed: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """Take over new partitions, and return offsets to begin at that override ``committed``.

        Partitions in neither begin by ``auto.offset.reset``.
        """

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """Give up partitions; their offsets can still be committed."""

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """Give up partitions that another member owns already: nothing can be committed."""
