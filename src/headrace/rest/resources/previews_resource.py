# SPDX-License-Identifier: Apache-2.0
"""Previews of a new configuration, and of a connector. Kafka Connect has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from headrace.herder.connector_validation import invalid_message
from headrace.herder.errors import BadRequestError
from headrace.herder.herder import Herder
from headrace.inspection.inspections import Inspections
from headrace.inspection.preview.previews import PreviewOptions, run_preview
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


async def _options(
    records: Annotated[int, Query(ge=1, le=100, description="Records to show")] = 10,
    timeout: Annotated[
        int, Query(ge=1, le=60, description="Seconds after which the preview ends, whatever it does")
    ] = 20,
    task: Annotated[int, Query(ge=0, le=9999, description="The task's number")] = 0,
    from_end: Annotated[bool, Query(alias="fromEnd", description="Of a sink: the last records of its topics")] = False,
) -> PreviewOptions:
    return PreviewOptions(task, records, timeout, from_end)


Options = Annotated[PreviewOptions, Depends(_options)]


def previews_router(herder: Herder, handler: RequestHandler, served: Inspections) -> APIRouter:
    """Return the routes; plugins' code runs in the sandbox of ``served``, and waits for it on other threads."""
    router = json_router("previews")
    previewer = _Previewer(herder, handler, served, HiddenSecrets(herder, handler))

    @router.post(
        "/connector-plugins/{plugin}/config/preview",
        summary="The first records that a connector with this configuration would write, of which none is written",
        openapi_extra=CONFIG_DOC,
    )
    async def preview_config(name: PluginName, request: Request, options: Options) -> Response:
        config = {"connector.class": name, **await read_config(request)}
        given = config.get("name")
        if not given:
            raise BadRequestError("The configuration lacks the property name")
        return await previewer.preview(request, name, named(given, config), options)

    @router.post(
        "/connectors/{connector}/preview",
        summary="The next records of a connector, from its committed offsets on, of which none is written",
        openapi_extra=_OPTIONAL_CONFIG_DOC,
    )
    async def preview_connector(name: Name, request: Request, options: Options) -> Response:
        stored = herder.connector_info(name).config
        config = named(name, await read_config(request)) if await request.body() else stored
        plugin = config.get("connector.class") or stored.get("connector.class") or ""
        offsets = await handler.complete(herder.connector_offsets(name))
        return await previewer.preview(request, plugin, config, options, offsets)

    return router


@dataclass(frozen=True, slots=True)
class _Previewer:
    """Checks requests for previews, and runs them. For the event loop."""

    herder: Herder
    handler: RequestHandler
    served: Inspections
    hidden: HiddenSecrets

    async def preview(
        self,
        request: Request,
        plugin: str,
        config: Config,
        options: PreviewOptions,
        offsets: Sequence[ConnectorOffset] = (),
    ) -> Response:
        """Return the preview of a valid configuration that the user may see; BadRequestError for another one."""
        access_of(request).check_config(config["name"], config)
        note(request, f"previews {options.records} records of task {options.task}, and writes none")
        infos = await self.handler.complete(self.herder.validate_connector_config(plugin, config))
        if infos.error_count:
            raise BadRequestError(invalid_message(infos))
        basis = await self.handler.complete(self.herder.task_basis(config, options.task))
        secrets = await self.hidden.secrets_in(config)
        served = self.served
        answer = await run_in_threadpool(
            run_preview, served.sandbox, basis, options, offsets, secrets.values, served.frames
        )
        return JSONResponse(answer)
