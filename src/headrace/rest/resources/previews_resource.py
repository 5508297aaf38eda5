# SPDX-License-Identifier: Apache-2.0
"""Previews of a new configuration, and of a connector. Kafka Connect has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from headrace.herder.connector_validation import invalid_message
from headrace.herder.errors import BadRequestError
from headrace.herder.herder import Herder
from headrace.inspection.preview.previews import PreviewOptions, run_preview
from headrace.inspection.sandbox import Sandbox
from headrace.model.info import ConnectorOffset
from headrace.rest.access.access import access_of
from headrace.rest.access.change_audit import note
from headrace.rest.access.hidden_secrets import HiddenSecrets
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.request_body import CONFIG_DOC, named, read_config
from headrace.rest.resources.connector_plugins_resource import Name as PluginName
from headrace.rest.resources.connectors_resource import Name
from headrace.rest.routing import json_router

Config = Mapping[str, str | None]
_OPTIONAL_CONFIG_DOC = {"requestBody": {**CONFIG_DOC["requestBody"], "required": False}}
Records = Annotated[int, Query(ge=1, le=100, description="Records to show")]
Timeout = Annotated[int, Query(ge=1, le=60, description="Seconds after which the preview ends, whatever it does")]
Task = Annotated[int, Query(ge=0, le=9999, description="The task's number")]
FromEnd = Annotated[bool, Query(alias="fromEnd", description="Of a sink: the last records of its topics")]


def previews_router(herder: Herder, handler: RequestHandler, sandbox: Sandbox) -> APIRouter:
    """Return the routes; plugins' code runs in the sandbox, and waits for it on other threads."""
    router = json_router("previews")
    hidden = HiddenSecrets(herder, handler)

    @router.post(
        "/connector-plugins/{plugin}/config/preview",
        summary="The first records that a connector with this configuration would write, of which none is written",
        openapi_extra=CONFIG_DOC,
    )
    async def preview_config(
        name: PluginName,
        request: Request,
        records: Records = 10,
        timeout: Timeout = 20,
        task: Task = 0,
        from_end: FromEnd = False,
    ) -> Response:
        config = {"connector.class": name, **await read_config(request)}
        given = config.get("name")
        if not given:
            raise BadRequestError("The configuration lacks the property name")
        options = PreviewOptions(task, records, timeout, from_end)
        return await _preview(request, name, named(given, config), options)

    @router.post(
        "/connectors/{connector}/preview",
        summary="The next records of a connector, from its committed offsets on, of which none is written",
        openapi_extra=_OPTIONAL_CONFIG_DOC,
    )
    async def preview_connector(
        name: Name,
        request: Request,
        records: Records = 10,
        timeout: Timeout = 20,
        task: Task = 0,
        from_end: FromEnd = False,
    ) -> Response:
        stored = herder.connector_info(name).config
        config = named(name, await read_config(request)) if await request.body() else stored
        plugin = config.get("connector.class") or stored.get("connector.class") or ""
        offsets = await handler.complete(herder.connector_offsets(name))
        options = PreviewOptions(task, records, timeout, from_end)
        return await _preview(request, plugin, config, options, offsets)

    async def _preview(
        request: Request,
        plugin: str,
        config: Config,
        options: PreviewOptions,
        offsets: Sequence[ConnectorOffset] = (),
    ) -> Response:
        access_of(request).check_config(config["name"], config)
        note(request, f"previews {options.records} records of task {options.task}, and writes none")
        infos = await handler.complete(herder.validate_connector_config(plugin, config))
        if infos.error_count:
            raise BadRequestError(invalid_message(infos))
        basis = await handler.complete(herder.task_basis(config, options.task))
        secrets = await hidden.secrets_in(config)
        answer = await run_in_threadpool(run_preview, sandbox, basis, options, offsets, secrets.values)
        return JSONResponse(answer)

    return router
