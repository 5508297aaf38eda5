# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document (``/openapi.json``, shown at ``/docs``): every status that an operation answers, and its JSON.

FastAPI describes paths and parameters. Answers are made without its models, so their shapes are described here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from headrace.rest.access.access import ROLE
from headrace.rest.access.operations import Role
from headrace.rest.api_schemas import SCHEMAS
from headrace.rest.routing import JSON
from headrace.rest.schema_parts import Schema, array, mapping, ref

Answers = Mapping[int, Schema | None]
"""The schemas of answers by status; None for an answer without a body."""

_ANSWERS: Final[Mapping[str, Answers]] = {
    "root": {200: ref("ServerInfo")},
    "health": {200: ref("WorkerStatus"), 500: ref("WorkerStatus"), 503: ref("WorkerStatus")},
    "get_events": {200: ref("StateEvent")},
    "list_loggers": {200: mapping(ref("LoggerLevel"))},
    "get_logger": {200: ref("LoggerLevel")},
    "set_level": {200: array({"type": "string"}), 204: None},
    "list_connectors": {200: ref("Connectors")},
    "create_connector": {201: ref("Connector")},
    "get_connector": {200: ref("Connector")},
    "delete_connector": {204: None},
    "get_config": {200: ref("StoredConfig")},
    "put_config": {200: ref("Connector"), 201: ref("Connector")},
    "patch_config": {200: ref("Connector")},
    "get_status": {200: ref("ConnectorStatus")},
    "get_history": {200: ref("History")},
    "get_cluster_history": {200: ref("History")},
    "list_workers": {200: ref("Workers")},
    "list_changes": {200: ref("Changes")},
    "get_health": {200: ref("ConnectorHealth")},
    "pause": {202: None},
    "resume": {202: None},
    "stop": {204: None},
    "restart": {202: ref("ConnectorStatus"), 204: None},
    "get_tasks": {200: array(ref("Task"))},
    "get_task_status": {200: ref("TaskState")},
    "restart_task": {204: None},
    "get_topics": {200: ref("Topics")},
    "get_topic_statistics": {200: ref("TopicStatistics")},
    "get_records": {200: ref("Records")},
    "reset_topics": {202: None},
    "get_logs": {200: ref("LogLines")},
    "get_offsets": {200: ref("Offsets")},
    "alter_offsets": {200: ref("OffsetsChanged"), 204: None},
    "reset_offsets": {200: ref("OffsetsChanged"), 204: None},
    "get_dead_letters": {200: ref("DeadLetters")},
    "get_redrive": {200: ref("RedriveJob")},
    "redrive": {200: ref("RedrivePlan"), 202: ref("RedriveJob")},
    "discard": {200: ref("RedrivePlan"), 202: ref("RedriveJob")},
    "connector_plugins": {200: array(ref("Plugin"))},
    "plugin_config": {200: array(ref("ConfigKey"))},
    "validate": {200: ref("ConfigInfos")},
    "preview_config": {200: ref("Preview")},
    "preview_connector": {200: ref("Preview")},
}
_MEANINGS: Final[Mapping[int, str]] = {
    200: "Done",
    201: "Created",
    202: "Accepted: it will be so",
    204: "Done; the answer has no body",
    400: "The request cannot be meant; the message says what is wrong with it",
    401: "A REST extension wants credentials",
    403: "Not permitted here",
    404: "There is no such connector, task, topic, plugin, logger or level",
    406: "The header Accept does not have application/json",
    408: "The body has not come in time",
    409: "Not now: work is being moved between workers (then with Retry-After), or something contradicts the request",
    413: "The body is larger than rest.request.max.bytes",
    415: "The body does not come with the header Content-Type: application/json",
    421: "The worker is not known by the Host that was asked: see rest.allowed.hosts",
    500: "It failed, or took too long: the message names what is being waited for",
    503: "The worker is starting, too busy, or Kafka does not answer; Retry-After says when to ask again",
}
_MEDIA_TYPES: Final[Mapping[str, str]] = {"get_events": "text/event-stream"}
"""Of operations whose answer is no JSON; the schema is of each event."""
_NO_JSON: Final = ("/metrics", "/events")
_ROLES: Final[Mapping[str, str]] = {
    "root": "The user's highest role, be it for a single connector only",
    "get_connector": "The user's role for the connector",
}
"""Which role is in the header of an operation's answer."""
_ERRORS_OF_ALL: Final = (400, 401, 413, 415, 408, 421, 500, 503)
_ERRORS_WITH_JSON: Final = (406,)
_ERRORS_OF_ONE: Final = (404,)
_ERRORS_OF_CHANGES: Final = (403, 409)


def operation_id(route: APIRoute) -> str:
    """Return the function's name: short, and the method's name in clients generated from the description."""
    return route.name


def describe(app: FastAPI) -> None:
    """Make `app` serve the complete description; call before the first request."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            generated = get_openapi(
                title=app.title, version=app.version, routes=app.routes, description=app.description, tags=None
            )
            app.openapi_schema = _completed(generated)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    for path, method, operation in _operations(document):
        answers = _ANSWERS.get(operation["operationId"])
        if answers is not None:
            operation["responses"] = {}
            for status, schema in answers.items():
                media_type = _MEDIA_TYPES.get(operation["operationId"], JSON)
                operation["responses"][str(status)] = _answer(status, schema, media_type)
        for status in _errors(path, method):
            operation["responses"].setdefault(str(status), _answer(status, ref("Error")))
        operation["responses"].pop("422", None)
        for answer, header in _headers(operation["operationId"]):
            operation["responses"][answer]["headers"] = header
    document.setdefault("components", {})["schemas"] = SCHEMAS
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


def _errors(path: str, method: str) -> tuple[int, ...]:
    of_one = _ERRORS_OF_ONE if "{" in path else ()
    with_json = () if path in _NO_JSON else _ERRORS_WITH_JSON
    return (*_ERRORS_OF_ALL, *with_json, *of_one, *(() if method == "get" else _ERRORS_OF_CHANGES))


def _answer(status: int, schema: Schema | None, media_type: str = JSON) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": _MEANINGS.get(status) or HTTPStatus(status).phrase}
    if schema is not None:
        answer["content"] = {media_type: {"schema": schema}}
    return answer


def _headers(operation: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if operation in ("create_connector", "put_config"):
        yield "201", {"Location": {"description": "Where the connector is", "schema": {"type": "string"}}}
    if operation in _ROLES:
        roles = {"type": "string", "enum": [role.name.lower() for role in Role]}
        yield "200", {ROLE: {"description": _ROLES[operation], "schema": roles}}
