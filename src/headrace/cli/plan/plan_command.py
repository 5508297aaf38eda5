# SPDX-License-Identifier: Apache-2.0
"""`headrace plan`: what `apply` would change."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.ctl.command import Session, command
from headrace.cli.ctl.ctl_error import CtlError
from headrace.cli.ctl.output import Output, View
from headrace.cli.ctl.statuses import counted
from headrace.logs.formats import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.cli.plan.differences import Plan
    from headrace.cli.plan.planning import Planned

_CHANGES = 2
_SALT_BYTES = 16

Files = Annotated[
    list[Path],
    typer.Option("--file", "-f", help="A file of connectors, or a directory; repeatable.", show_default=False),
]
Prune = Annotated[
    str | None,
    typer.Option(
        "--prune",
        metavar="LABEL",
        help="Delete connectors with this label (headrace.labels) that are in none of the files.",
        show_default=False,
    ),
]


def add_plan_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    examples = (
        "headrace plan -f connectors/",
        "headrace plan -f connectors/ --prune shop --plan-file plan.json",
    )
    command(app, "plan", *examples, output=True)(plan)


def plan(
    session: Session,
    files: Files,
    prune: Prune = None,
    plan_file: Annotated[
        Path | None, typer.Option(help="Where to write the plan, for: apply --plan-file.", show_default=False)
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit code 2 if there are changes.")
    ] = False,
) -> None:
    """Show what has to change for the cluster's connectors to be like those in files. Changes nothing.

    All configurations are checked by the worker. Exit code 1 if there are mistakes: they are listed, all of them.
    """
    planned = plan_of(session, files, prune)
    if plan_file is not None:
        write_plan(session, planned.plan, files, prune, plan_file)
    show_plan(session, planned.plan)
    if detailed_exitcode and planned.plan.to_do:
        raise typer.Exit(_CHANGES)


def plan_of(session: Session, files: Sequence[Path], label: str | None) -> Planned:
    """Return the plan for files. Raise CtlError if there are mistakes, which are listed before."""
    from headrace.cli.plan.planning import make_plan

    planned = make_plan(session.api, files, label)
    if planned.findings:
        if session.output in (Output.JSON, Output.YAML):
            session.show(View({"errors": [each.data for each in planned.findings]}, (), (), ()))
        for finding in planned.findings:
            session.say(str(finding))
        raise CtlError(f"There is no plan: {counted(len(planned.findings), 'mistake')}")
    return planned


def show_plan(session: Session, plan: Plan) -> None:
    """Print a plan to stdout, as the user wants it."""
    from headrace.cli.plan import plan_view

    if session.output is Output.TABLE:
        for line in plan_view.lines(plan):
            typer.echo(escaped(line))
    else:
        session.show(View(plan_view.data(plan), [change.name for change in plan.to_do], (), ()))


def write_plan(session: Session, plan: Plan, files: Sequence[Path], label: str | None, path: Path) -> None:
    """Write a plan to a file that only its owner can read."""
    from headrace.cli.plan.plan_file import to_json

    content = to_json(plan, files, label, cluster_id(session), secrets.token_hex(_SALT_BYTES))
    try:
        path.touch(0o600)
        path.write_text(content)
    except OSError as error:
        raise CtlError(f"{path} cannot be written: {error.strerror or error}") from error
    session.say(f"The plan is in {path}")


def cluster_id(session: Session) -> Any:
    """Return the id of the worker's Kafka cluster."""
    return session.api.get("/").get("kafka_cluster_id")
