# SPDX-License-Identifier: Apache-2.0
"""`headrace apply`: makes the cluster's connectors like those in files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.ctl.command import Session, Yes, command
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode
from headrace.cli.ctl.output import Output, View
from headrace.cli.ctl.statuses import counted
from headrace.cli.ctl.waiting import DEFAULT_TIMEOUT_S, Timeout
from headrace.cli.plan.plan_command import Prune, cluster_id, plan_of, show_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.cli.plan.differences import Change, Plan
    from headrace.cli.plan.planning import Planned


def add_apply_command(app: typer.Typer) -> None:
    """Add the command to ``app``: it is no group."""
    examples = (
        "headrace apply -f connectors/",
        "headrace apply --plan-file plan.json --yes --rollback-on-failure",
    )
    command(app, "apply", *examples, output=True)(apply)


def apply(
    session: Session,
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="A file of connectors, or a directory; repeatable.", show_default=False),
    ] = None,
    plan_file: Annotated[
        Path | None, typer.Option(help="A plan of: headrace plan --plan-file.", show_default=False)
    ] = None,
    prune: Prune = None,
    yes: Yes = False,
    rollback_on_failure: Annotated[
        bool, typer.Option("--rollback-on-failure", help="Undo all changes if one fails or is not healthy.")
    ] = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
) -> None:
    """Make the cluster's connectors like those in files, and wait until all of these are healthy.

    Shows the plan and asks. With --plan-file it is just that plan, refused if cluster or files are others by now.
    Interrupted, it can be run again. Exit code 2 if a connector is not healthy.
    """
    planned = _plan(session, files, plan_file, prune)
    if session.output is Output.TABLE:
        show_plan(session, planned.plan)
    if planned.plan.to_do:
        changes = counted(len(planned.plan.to_do), "change")
        session.confirm(f"Make {changes}?", yes)
    _Apply(session, planned, timeout, rollback_on_failure).run()


def _plan(session: Session, files: list[Path] | None, plan_file: Path | None, label: str | None) -> Planned:
    if plan_file is None:
        if not files:
            raise ArgumentError("Name the files by --file, or a plan by --plan-file")
        return plan_of(session, files, label)
    if files or label is not None:
        raise ArgumentError("A plan has its files and what is pruned: --plan-file is without --file and --prune")
    return _saved(session, plan_file)


def _saved(session: Session, path: Path) -> Planned:
    """Return the plan of a file, made again. Raise CtlError if it holds no more."""
    from headrace.cli.plan.plan_file import differing, read_plan

    saved = read_plan(path)
    if saved.cluster != cluster_id(session):
        raise CtlError(f"The plan {path} is for another cluster: its Kafka cluster is {saved.cluster}")
    planned = plan_of(session, saved.files, saved.label)
    if reasons := list(differing(saved, planned.plan)):
        for reason in reasons:
            session.say(f"{path}: {reason}")
        raise CtlError(f"The plan {path} holds no more", remedy="Make it again with: headrace plan")
    return planned


class _Apply:
    """One run: the changes, the wait, and what happens when one fails."""

    def __init__(self, session: Session, planned: Planned, timeout: float, rollback: bool) -> None:
        self._session = session
        self._plan: Plan = planned.plan
        self._secrets = planned.secrets
        self._timeout = timeout
        self._rollback = rollback
        self._begun: list[Change] = []

    def run(self) -> None:
        try:
            self._make_changes()
            reasons = self._await()
        except (CtlError, KeyboardInterrupt) as error:
            self._undo()
            if isinstance(error, CtlError):
                raise CtlError(self._masked(str(error)), error.code, error.remedy) from error
            raise
        unhealthy = {name: [self._masked(each) for each in found] for name, found in reasons.items()}
        self._show(unhealthy)
        if unhealthy:
            for name, found in unhealthy.items():
                self._session.say(f"Connector {name}: {'; '.join(found)}")
            if any(change.name in unhealthy for change in self._begun):
                self._undo()
            remedy = "More: headrace connectors describe NAME"
            raise CtlError(f"{counted(len(unhealthy), 'connector')} not healthy", ExitCode.NOT_REACHED, remedy)

    def _make_changes(self) -> None:
        from headrace.cli.plan.applying import carry_out, is_open

        # Each change causes a rebalance; a group under load takes longer for it than for a single request.
        self._session.api.patience = max(self._session.api.patience, self._timeout)
        for change in self._plan.to_do:
            if is_open(self._session.api, change):
                self._begun.append(change)
                carry_out(self._session.api, change, self._session.say)

    def _await(self) -> Mapping[str, Sequence[str]]:
        from headrace.cli.plan.awaiting import await_connectors

        goals = {change.name: change.goal for change in self._plan.changes}
        report = self._session.say if sys.stderr.isatty() else lambda line: None
        return await_connectors(self._session.api, goals, self._timeout, lambda line: report(self._masked(line)))

    def _undo(self) -> None:
        from headrace.cli.plan.applying import roll_back

        if not self._rollback or not self._begun:
            return
        self._session.say(f"Rolling back {counted(len(self._begun), 'change')}")
        errors = roll_back(self._session.api, self._begun, self._timeout, self._session.say)
        for name, error in errors.items():
            self._session.say(f"Connector {name} is not rolled back: {self._masked(error)}")

    def _masked(self, text: str) -> str:
        for secrets in self._secrets.values():
            text = secrets.masked_text(text)
        return text

    def _show(self, unhealthy: Mapping[str, Sequence[str]]) -> None:
        from headrace.cli.plan import plan_view

        if self._session.output is Output.TABLE:
            typer.echo(plan_view.applied(self._plan, len(unhealthy)))
            return
        found = {**plan_view.data(self._plan), "not_healthy": unhealthy}
        self._session.show(View(found, [change.name for change in self._plan.to_do], (), ()))
