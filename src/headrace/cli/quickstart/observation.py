# SPDX-License-Identifier: Apache-2.0
"""Counts and health of a quickstart at a point in time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from headrace.cli.quickstart.comparison import ParquetRows
from headrace.cli.quickstart.services import Services

_UNKNOWN: Final = "unknown"
_TRANSACTIONS: Final = re.compile(r"(?m)^kafka_connect_source_task_transactions_committed_total\{[^}]*\} (\S+)")


@dataclass(frozen=True, slots=True)
class Health:
    """A connector's verdict and its reason, as the worker's health has them."""

    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Observation:
    """Counts since the topic and the files were created; transactions since the source task was started."""

    records: int
    transactions: int
    rows: int
    health: Mapping[str, Health]


class Observer:
    """Looks at topic, worker and files. For one thread."""

    def __init__(self, services: Services, rows: ParquetRows) -> None:
        self._services = services
        self._rows = rows
        self._transactions = 0

    def observe(self) -> Observation:
        """Return what there is now. Raise ConnectError if the broker or the worker has ended."""
        self._services.check()
        self._transactions = max(self._transactions, transactions_in(self._services.metrics()))
        found = self._services.ask("connectors", expand="health") or {}
        return Observation(self._services.records.count(), self._transactions, self._rows.count(), healths_in(found))


def transactions_in(metrics: str) -> int:
    """Return the committed transactions of all source tasks in the text of metrics."""
    return sum(int(float(number)) for number in _TRANSACTIONS.findall(metrics))


def healths_in(answer: Mapping[str, Any]) -> dict[str, Health]:
    """Return the health of each connector in the answer to `GET /connectors?expand=health`."""
    found = {name: about.get("health") or {} for name, about in answer.items()}
    return {name: Health(of.get("verdict") or _UNKNOWN, of.get("why") or "") for name, of in found.items()}
