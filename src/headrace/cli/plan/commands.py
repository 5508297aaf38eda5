# SPDX-License-Identifier: Apache-2.0
"""Adds the commands on files of connectors to the command `headrace`."""

from __future__ import annotations

import typer

from headrace.cli.plan.apply_command import add_apply_command
from headrace.cli.plan.export_command import add_export_command
from headrace.cli.plan.lint_command import add_lint_command
from headrace.cli.plan.plan_command import add_plan_command


def add_plan_commands(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    add_plan_command(app)
    add_apply_command(app)
    add_lint_command(app)
    add_export_command(app)
