# SPDX-License-Identifier: Apache-2.0
"""Parameters of queries, read as Kafka Connect reads them."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, Query


def java_boolean(name: str, default: bool, description: str) -> Any:
    """For a ``bool``: true in any case is true, all else false, and an empty text the default. Java: ``parseBoolean``.

    For Kafka Connect's own parameters. One that it does not have refuses what is neither true nor false: nobody who
    writes ``dryRun=ture`` wants a change.
    """
    as_boolean = {"type": "boolean", "default": default}
    parameter = Query(default_factory=str, alias=name, description=description, json_schema_extra=as_boolean)

    async def read(text: str = parameter) -> bool:
        return text.lower() == "true" if text else default

    return Depends(read)
