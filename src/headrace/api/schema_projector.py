# SPDX-License-Identifier: Apache-2.0
"""Projection of values from one schema to a compatible one (Java: `SchemaProjector`)."""

from __future__ import annotations

from typing import Any, Final

from headrace.api.errors import DataError
from headrace.api.logical import is_logical
from headrace.api.schema import Schema, Struct, Type


class SchemaProjectorError(DataError):
    """The two schemas are not compatible."""


# A number fits each type to the right of its own.
_WIDENING: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def project(source: Schema, value: Any, target: Schema) -> Any:
    """Return `value`, of schema `source`, as a value of schema `target`.

    Numbers widen; fields of structs may be removed, and added if they are optional or have a default; names and
    parameters must be equal. Raise SchemaProjectorError if the schemas are not compatible.
    """
    if source.optional and not target.optional:
        if target.default is None:
            raise SchemaProjectorError("Writer schema is optional, however, target schema does not provide a default")
        return target.default if value is None else _project_required(source, value, target)
    return None if value is None else _project_required(source, value, target)


def _project_required(source: Schema, value: Any, target: Schema) -> Any:
    if source == target:
        return value
    _check(source, target)
    if source.type is Type.STRUCT:
        return _project_struct(value, target)
    if source.type is Type.ARRAY and source.value_schema is not None and target.value_schema is not None:
        return [project(source.value_schema, entry, target.value_schema) for entry in value]
    if source.type is Type.MAP:
        return _project_map(source, value, target)
    if target.type in (Type.FLOAT32, Type.FLOAT64):
        return float(value)
    return value


def _check(source: Schema, target: Schema) -> None:
    if source.name != target.name:
        raise SchemaProjectorError(f"Schema name mismatch. source name: {source.name} and target name: {target.name}")
    if source.parameters != target.parameters:
        raise SchemaProjectorError(
            f"Schema parameters not equal. source parameters: {source.parameters} and target parameters:"
            f" {target.parameters}"
        )
    widens = (
        source.type in _WIDENING
        and target.type in _WIDENING
        and not is_logical(source)
        and _WIDENING.index(source.type) <= _WIDENING.index(target.type)
    )
    if source.type is not target.type and not widens:
        raise SchemaProjectorError(
            f"Schema type mismatch. source type: {source.type.name} and target type: {target.type.name}"
        )


def _project_struct(value: Struct, target: Schema) -> Struct:
    result = Struct(target)
    for field in target.fields:
        written = value.schema.field(field.name)
        if written is not None:
            result.put(field.name, project(written.schema, value.get_without_default(field.name), field.schema))
        elif field.schema.default is not None:
            result.put(field.name, field.schema.default)
        elif not field.schema.optional:
            raise SchemaProjectorError(f"Required field `{field.name}` is missing from source schema: {value.schema}")
    return result


def _project_map(source: Schema, value: Any, target: Schema) -> Any:
    if source.key_schema is None or source.value_schema is None:
        return value
    if target.key_schema is None or target.value_schema is None:
        return value
    keys, values = (source.key_schema, target.key_schema), (source.value_schema, target.value_schema)
    return {project(keys[0], key, keys[1]): project(values[0], entry, values[1]) for key, entry in value.items()}
