# SPDX-License-Identifier: Apache-2.0
"""Checks of a transformation's input (Java: `transforms.util.Requirements`).

`purpose` names the operation in messages, such as `field extraction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.api.errors import DataError
from headrace.api.schema import Schema, Struct


def require_schema(schema: Schema | None, purpose: str) -> Schema:
    """Return the schema. Raise DataError if it is None."""
    if schema is None:
        raise DataError(f"Data without a schema cannot be used for [{purpose}]; use a converter that gives schemas")
    return schema


def require_map(value: Any, purpose: str) -> Mapping[str, Any]:
    """Return the map. Raise DataError for anything else, None included."""
    if value.__class__ is dict or isinstance(value, Mapping):
        return value
    raise DataError(f"Data without a schema must be a map for [{purpose}], not {type_name(value)}")


def require_struct(value: Any, purpose: str) -> Struct:
    """Return the struct. Raise DataError for anything else, None included."""
    if isinstance(value, Struct):
        return value
    raise DataError(f"Data with a schema must be a struct for [{purpose}], not {type_name(value)}")


def type_name(value: Any) -> str:
    """Return the type of a value as messages show it."""
    return "null" if value is None else type(value).__name__
