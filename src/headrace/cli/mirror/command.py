# SPDX-License-Identifier: Apache-2.0
"""The command `headrace mirror`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.console import LogLevel, configure_logging, one_line_errors


def mirror(
    mirror_properties: Annotated[
        Path, typer.Argument(help="MirrorMaker's properties file.", metavar="MM2_PROPERTIES", show_default=False)
    ],
    clusters: Annotated[
        list[str] | None,
        typer.Option(help="Target clusters of this node, A,B or repeated; by default all.", show_default=False),
    ] = None,
    pair: Annotated[str | None, typer.Option(hidden=True, help="Run the worker of this pair alone.")] = None,
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="How much to log.")] = LogLevel.INFO,
) -> None:
    """Run a node of MirrorMaker 2 in dedicated mode until SIGTERM or Ctrl-C.

    Each pair of clusters has a worker of its own. One that ends ends the others.
    """
    configure_logging(log_level)
    with one_line_errors():
        if pair is None:
            from headrace.cli.mirror.node import run_node

            targets = [each.strip() for text in clusters or () for each in text.split(",") if each.strip()]
            code = run_node(mirror_properties, targets, log_level)
        else:
            from headrace.cli.mirror.pair_worker import run_pair_worker

            code = run_pair_worker(mirror_properties, pair)
    raise typer.Exit(code)
