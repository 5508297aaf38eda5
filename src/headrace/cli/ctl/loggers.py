# SPDX-License-Identifier: Apache-2.0
"""`headrace loggers`: show and set the levels of loggers (KIP-495, KIP-976)."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from headrace.cli.ctl.command import Session, command
from headrace.cli.ctl.output import View
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import NONE
from headrace.logs.loggers import LEVELS, level_of

loggers = typer.Typer(name="loggers", help="Levels of the workers' loggers.", no_args_is_help=True)

LEVELS_TEXT: Final = f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]}"


def parse_level(text: str) -> str:
    """Return the name of a level, which may be written in any case. Raise BadParameter for another text."""
    level = level_of(text)
    if level is None:
        raise typer.BadParameter(f"'{text}' is no level: {LEVELS_TEXT}")
    return level


def level_names(incomplete: str) -> list[str]:
    """Return the levels that begin with a text, in the text's case."""
    levels = [level.lower() for level in LEVELS] if incomplete.islower() else LEVELS
    return [level for level in levels if level.startswith(incomplete)]


Level = Annotated[
    str,
    typer.Argument(help=f"{LEVELS_TEXT}.", show_default=False, parser=parse_level, autocompletion=level_names),
]


@command(loggers, "get", "headrace loggers get", "headrace loggers get headrace", output=True)
def get(
    session: Session,
    logger: Annotated[str | None, typer.Argument(help="A logger; all by default.", show_default=False)] = None,
) -> None:
    """Show the levels of one worker's loggers."""
    found = session.api.get("/admin/loggers") if logger is None else session.api.get(path("admin", "loggers", logger))
    levels = found if logger is None else {logger: found}
    rows = [(name, level.get("level") or NONE) for name, level in sorted(levels.items())]
    session.show(View(found, sorted(levels), ("LOGGER", "LEVEL"), rows))


@command(loggers, "set", "headrace loggers set headrace.worker DEBUG", "headrace loggers set root INFO --cluster")
def set_level(
    session: Session,
    logger: Annotated[str, typer.Argument(help="A logger; root is that of all.", show_default=False)],
    level: Level,
    cluster: Annotated[bool, typer.Option("--cluster", help="On all workers that run now.")] = False,
) -> None:
    """Set the level of a logger and all below it, until the worker ends."""
    params = {"scope": "cluster" if cluster else "worker"}
    session.api.send("PUT", path("admin", "loggers", logger), {"level": level}, params)
    session.say(f"Logger {logger} has level {level} on {'all workers' if cluster else 'this worker'}")
