# SPDX-License-Identifier: Apache-2.0
"""JSON of schemas, as JsonConverter writes it beside the data, with keys in Java's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.api.errors import DataError, SchemaBuilderError
from headrace.api.schema import Schema, Type
from headrace.api.schema_builder import SchemaBuilder

TYPE_NAMES: Final = {kind: kind.value for kind in Type} | {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES: Final = {name: kind for kind, name in TYPE_NAMES.items()}

_INT32_END: Final = 1 << 31


def schema_to_json(schema: Schema, default_to_json: Callable[[Schema], Any]) -> dict[str, Any]:
    """Return the JSON of a schema; `default_to_json` converts a schema's default."""
    json: dict[str, Any] = {"type": TYPE_NAMES[schema.type]}
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        json["items"] = schema_to_json(schema.value_schema, default_to_json)
    elif schema.type is Type.MAP and schema.key_schema is not None and schema.value_schema is not None:
        json["keys"] = schema_to_json(schema.key_schema, default_to_json)
        json["values"] = schema_to_json(schema.value_schema, default_to_json)
    elif schema.type is Type.STRUCT:
        json["fields"] = [schema_to_json(f.schema, default_to_json) | {"field": f.name} for f in schema.fields]
    json["optional"] = schema.optional
    for attribute in ("name", "version", "doc"):
        value = getattr(schema, attribute)
        if value is not None:
            json[attribute] = value
    if schema.parameters is not None:
        json["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        json["default"] = default_to_json(schema)
    return json


def schema_from_json(json: Any, default_from_json: Callable[[Schema, Any], Any]) -> Schema | None:
    """Return the schema of a JSON; `default_from_json` converts a default. Raise DataError if it is no schema."""
    if json is None:
        return None
    name = json.get("type") if isinstance(json, dict) else None
    if not isinstance(name, str):
        raise DataError("Schema must contain 'type' field")
    if name not in _TYPES:
        raise DataError(f"Unknown schema type: {name}")
    builder = _builder(_TYPES[name], json, default_from_json)
    if json.get("optional") is True:
        builder.optional()
    _take_attributes(builder, json)
    if "default" in json:
        if _TYPES[name] is Type.STRUCT and json["default"] is not None:
            raise SchemaBuilderError("Invalid default value: in JSON a struct cannot have one (Java neither reads it)")
        builder.default_value(default_from_json(builder.build(), json["default"]))
    return builder.build()


def _builder(kind: Type, json: dict[str, Any], default_from_json: Callable[[Schema, Any], Any]) -> SchemaBuilder:
    def inner(key: str, message: str) -> Schema:
        schema = schema_from_json(json.get(key), default_from_json)
        if schema is None:
            raise DataError(message)
        return schema

    if kind is Type.ARRAY:
        return SchemaBuilder.array(inner("items", "Array schema did not specify the element type"))
    if kind is Type.MAP:
        keys = inner("keys", "Map schema did not specify the key type")
        return SchemaBuilder.map(keys, inner("values", "Map schema did not specify the value type"))
    builder = SchemaBuilder(kind)
    if kind is Type.STRUCT:
        _take_fields(builder, json.get("fields"), default_from_json)
    return builder


def _take_fields(builder: SchemaBuilder, fields: Any, default_from_json: Callable[[Schema, Any], Any]) -> None:
    if not isinstance(fields, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    for field in fields:
        name = field.get("field") if isinstance(field, dict) else None
        schema = schema_from_json(field, default_from_json)
        if not isinstance(name, str) or schema is None:
            raise DataError("Struct schema's field name not specified properly")
        builder.field(name, schema)


def _take_attributes(builder: SchemaBuilder, json: dict[str, Any]) -> None:
    """Set the attributes. As in Java, wrong types are ignored, except in parameters; a version is cut to 32 bits."""
    name, version, doc, parameters = (json.get(key) for key in ("name", "version", "doc", "parameters"))
    if isinstance(name, str):
        builder.name(name)
    if isinstance(version, int) and not isinstance(version, bool):
        builder.version((version + _INT32_END) % (2 * _INT32_END) - _INT32_END)
    if isinstance(doc, str):
        builder.doc(doc)
    if isinstance(parameters, dict):
        for key, value in parameters.items():
            if not isinstance(value, str):
                raise DataError("Schema parameters must have string values.")
            builder.parameter(key, value)
