# SPDX-License-Identifier: Apache-2.0
"""Arguments that name connectors, which shells complete."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from headrace.api.errors import ConnectError
from headrace.cli.ctl.address import find_address, login_of

_TIMEOUT_S: Final = 2.0


def connector_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the connectors that begin with a text; none where no worker answers soon, or a password is missing."""
    from headrace.cli.ctl.rest_api import RestApi

    try:
        address = find_address(ctx.params.get("url"), ctx.params.get("context"))
        settings = address.settings
        if "username" in settings and not any(key.startswith(("password", "token")) for key in settings):
            return []
        api = RestApi(address, login_of(address), timeout=_TIMEOUT_S)
        try:
            names: list[str] = api.get("/connectors")
        finally:
            api.close()
    except ConnectError:
        return []
    return [name for name in names if name.startswith(incomplete)]


Connector = Annotated[
    str, typer.Argument(help="The connector's name.", show_default=False, autocompletion=connector_names)
]
OptionalConnector = Annotated[
    str | None, typer.Argument(help="The connector's name.", show_default=False, autocompletion=connector_names)
]
Connectors = Annotated[
    list[str], typer.Argument(help="Connectors' names.", show_default=False, autocompletion=connector_names)
]
SomeConnectors = Annotated[
    list[str] | None,
    typer.Argument(help="Connectors; all by default.", show_default=False, autocompletion=connector_names),
]
