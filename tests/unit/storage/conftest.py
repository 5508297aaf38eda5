# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parents[2] / "vectors"


@pytest.fixture(scope="session")
def vectors() -> Callable[..., list[dict[str, Any]]]:
    """The golden vectors of one area with one operation."""

    def read(area: str, op: str) -> list[dict[str, Any]]:
        lines = (VECTORS / f"{area}.jsonl").read_text().splitlines()
        found = [vector for vector in map(json.loads, lines) if vector["op"] == op]
        assert found, f"no vectors of {op} in {area}"
        return found

    return read


@pytest.fixture(scope="session")
def log_bytes() -> Callable[[Any], bytes | None]:
    """A vector's key or value as it lies in the topic."""

    def to_bytes(value: Any) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, dict) and "$bytes" in value:
            return base64.b64decode(value["$bytes"])
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    return to_bytes
