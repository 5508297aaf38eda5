# SPDX-License-Identifier: Apache-2.0
"""The connectors that a worker runs, by ``connectors.allowlist`` and ``connectors.denylist``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from headrace.config.worker_config import CONNECTORS_ALLOWED, CONNECTORS_DENIED

_GLOB: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class ConnectorLists:
    """Names and glob patterns; one has to match any of a connector's names. An empty ``allowed`` allows all."""

    allowed: Collection[str] = ()
    denied: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.allowed or self.denied)

    def refusal(self, names: Collection[str]) -> str | None:
        """Return the reason why a connector with these names does not run here; None if it does."""
        pattern = _match(self.denied, names)
        if pattern is not None:
            return f"this worker runs no such connector: {CONNECTORS_DENIED} has '{pattern}'"
        if self.allowed and _match(self.allowed, names) is None:
            return f"this worker runs no such connector: {CONNECTORS_ALLOWED} does not have it"
        return None

    def unknown(self, names: Collection[str]) -> Iterator[str]:
        """Iterate over the denied plain names that no connector has: they may be misspelled."""
        return (each for each in self.denied if _GLOB.isdisjoint(each) and each not in names)


ALL_CONNECTORS: Final = ConnectorLists()


def _match(patterns: Iterable[str], names: Collection[str]) -> str | None:
    return next((each for each in patterns if any(fnmatchcase(name, each) for name in names)), None)
