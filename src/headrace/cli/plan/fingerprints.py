# SPDX-License-Identifier: Apache-2.0
"""Hashes of configurations, by which a plan recognizes them without having their secrets. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from headrace.cli.ctl.statuses import Goal
from headrace.cli.plan.differences import Config

_COST: Final = 2**12
"""scrypt's n: a configuration may have a short password, which a fast hash would let anybody find by trying."""


def fingerprint(config: Config | None, state: Goal | None, salt: str) -> str | None:
    """Return the hash of a connector's configuration and state; None for no connector. Takes about 10 ms."""
    if config is None:
        return None
    content = json.dumps([dict(sorted(config.items())), state and state.value], ensure_ascii=False).encode()
    return hashlib.scrypt(content, salt=salt.encode(), n=_COST, r=8, p=1, dklen=32).hex()
