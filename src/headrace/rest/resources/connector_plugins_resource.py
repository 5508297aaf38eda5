# SPDX-License-Identifier: Apache-2.0
"""``/connector-plugins`` and what lies below. Java: ``ConnectorPluginsResource``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from starlette.responses import JSONResponse

from headrace.herder.herder import Herder
from headrace.rest.access.access import access_of
from headrace.rest.entities import to_json
from headrace.rest.herder_request_handler import RequestHandler
from headrace.rest.raw_path import decoded
from headrace.rest.request_body import CONFIG_DOC, read_config
from headrace.rest.routing import java_boolean, json_router


def _decoded_name(plugin: Annotated[str, Path(description="The plugin's class or a short name of it")]) -> str:
    return decoded(plugin)


Name = Annotated[str, Depends(_decoded_name)]


def connector_plugins_router(herder: Herder, handler: RequestHandler) -> APIRouter:
    """Return the routes; handlers run as those of ``connectors_router``, and plugins' code on other threads."""
    router = json_router("plugins", "/connector-plugins")

    @router.get("", summary="Connectors that can be created")
    async def connector_plugins(
        connectors_only: Annotated[
            bool,
            java_boolean("connectorsOnly", True, "Converters, transformations and predicates too, if false"),
        ],
    ) -> Response:
        return JSONResponse(to_json(herder.connector_plugins(connectors_only)))

    @router.get("/{plugin}/config", summary="The properties that a plugin has")
    async def plugin_config(name: Name) -> Response:
        keys = await handler.complete(herder.connector_plugin_config(name))
        return JSONResponse(to_json(keys))

    @router.put("/{plugin}/config/validate", summary="Check a connector's configuration", openapi_extra=CONFIG_DOC)
    async def validate(name: Name, request: Request) -> Response:
        config = await read_config(request)
        access_of(request).check_config(config.get("name"), {"connector.class": name, **config})
        infos = await handler.complete(herder.validate_connector_config(name, config))
        return JSONResponse(to_json(infos))

    return router
