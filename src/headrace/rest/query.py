# SPDX-License-Identifier: Apache-2.0
"""Query parameters, parsed as Kafka Connect parses them."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, Query


def java_boolean(name: str, default: bool, description: str) -> Any:
    """Return a dependency that reads a ``bool``: ``true`` in any case is true, all else false, empty the default.

    For Kafka Connect's own parameters (Java: ``parseBoolean``). headrace's own refuse other values: a request with
    ``dryRun=ture`` must not change anything.
    """
    as_boolean = {"type": "boolean", "default": default}
    parameter = Query(default_factory=str, alias=name, description=description, json_schema_extra=as_boolean)

    async def parse(text: str = parameter) -> bool:
        return text.lower() == "true" if text else default

    return Depends(parse)
