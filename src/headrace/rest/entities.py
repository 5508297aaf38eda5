# SPDX-License-Identifier: Apache-2.0
"""The JSON of the REST API's answers, made from the model's dataclasses, whose fields have Kafka Connect's JSON names.

``schema_parts`` describes the same dataclasses by the same rules. Java: the package ``rest.entities``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any

from headrace.model.info import ConnectorOffset, ConnectorStateInfo, OffsetsChanged, SparkAttempt

Json = dict[str, Any]


def to_json(value: Any) -> Any:
    """Return the JSON of a dataclass, of a sequence of them, or of what their fields hold.

    Dataclasses and named tuples are objects with their fields in order; see ``is_optional`` for those left out.
    Mappings are JSON already.
    """
    if is_dataclass(value):
        return dict(_shown_fields(value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | list):
        names = getattr(value, "_fields", None)
        return [to_json(each) for each in value] if names is None else dict(zip(names, value, strict=True))
    return value


def json_name(field: Field[Any]) -> str:
    """Return the name of a dataclass' field in JSON, which differs where Python reserves it."""
    name: str = field.metadata.get("json_name", field.name)
    return name


def is_optional(field: Field[Any]) -> bool:
    """Return True for a field with the default None: it is left out where it is None, other fields are null then."""
    return field.default is None


def _shown_fields(value: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(value):
        content = getattr(value, field.name)
        if content is not None or not is_optional(field):
            yield json_name(field), to_json(content)


def connector_status(info: ConnectorStateInfo, spark: Mapping[int, SparkAttempt] | None = None) -> Json:
    """With ``spark``, give each task a block of its Spark attempt, null if it has none on this worker."""
    status: Json = to_json(info)
    if spark is not None:
        status["tasks"] = [{**task, "spark": to_json(spark.get(task["id"]))} for task in status["tasks"]]
    return status


def connector_offsets(offsets: Iterable[ConnectorOffset]) -> Json:
    """Return the answer of ``GET …/offsets``."""
    return {"offsets": [to_json(offset) for offset in offsets]}


def offsets_changed(changed: OffsetsChanged, *, dry_run: bool) -> Json:
    """Return Kafka's message; for a dry run the differences too."""
    differences = {"changes": to_json(changed.differences)} if dry_run else {}
    return {"message": changed.message, **differences}


def active_topics(name: str, topics: Iterable[str]) -> Json:
    """Return the answer of ``GET …/topics``."""
    return {name: {"topics": list(topics)}}
