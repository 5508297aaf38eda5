# SPDX-License-Identifier: Apache-2.0
"""`headrace broker`: a Kafka broker in the foreground, for trying things out."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.api.errors import ConnectError
from headrace.cli.console import print_error

if TYPE_CHECKING:
    from headrace.broker.embedded_broker import EmbeddedBroker


def broker(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 9092,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where topics live. By default in the user's data directory, by port.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A line for server.properties; repeatable.")
    ] = None,
) -> None:
    """Run a single Kafka broker on loopback until Ctrl-C; its topics are there again next time."""
    from headrace.broker.broker_template import broker_template
    from headrace.broker.embedded_broker import EmbeddedBroker
    from headrace.broker.free_port import check_free

    signal.signal(signal.SIGTERM, _interrupt)
    try:
        properties = _parse(set_ or [])
        if port:  # before the first start of all downloads Kafka
            check_free(port)
        broker_template(lambda name: typer.echo(f"Downloading {name}", err=True))
        embedded = EmbeddedBroker(data_dir or _default_data_dir(port), port, properties)
        with embedded:
            typer.echo(
                f"Kafka is ready: bootstrap.servers={embedded.bootstrap_servers} "
                f"data={embedded.data_dir} log={embedded.log_path} (Ctrl-C stops it)"
            )
            _wait_while_running(embedded)
    except KeyboardInterrupt:
        typer.echo("Kafka has stopped")
    except ConnectError as error:
        print_error(error)
        raise typer.Exit(1) from error


def _wait_while_running(embedded: EmbeddedBroker) -> None:
    while embedded.pid is not None:
        time.sleep(0.5)
    raise ConnectError(f"The broker ended by itself. Its log: {embedded.log_path}")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parse(lines: list[str]) -> dict[str, str]:
    """Raise BadParameter for a line without a key or a value."""
    for line in lines:
        if not line.partition("=")[0].strip() or "=" not in line:
            raise typer.BadParameter(f"'{line}' is not KEY=VALUE", param_hint="--set")
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def _default_data_dir(port: int) -> Path | None:
    """Return a directory by port, so that brokers do not share one; None, a temporary one, for a free port."""
    if port == 0:
        return None
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data_home) / "headrace" / f"broker-{port}"
