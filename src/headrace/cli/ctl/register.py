# SPDX-License-Identifier: Apache-2.0
"""Adds the commands for operators to the command `headrace`."""

from __future__ import annotations

import typer

from headrace.cli.ctl.cluster import add_cluster_command
from headrace.cli.ctl.connector_changes import connector_changes
from headrace.cli.ctl.connector_offsets import connector_offsets
from headrace.cli.ctl.connectors import connectors
from headrace.cli.ctl.context_commands import context
from headrace.cli.ctl.dead_letters import dlq
from headrace.cli.ctl.loggers import loggers
from headrace.cli.ctl.logs import add_logs_command
from headrace.cli.ctl.offset_transfer import offset_transfer
from headrace.cli.ctl.plugins import config, plugins
from headrace.cli.ctl.preview import add_preview_command
from headrace.cli.ctl.tasks import tasks
from headrace.cli.ctl.top import add_top_command
from headrace.cli.ctl.topics import topics
from headrace.cli.plan.apply_command import add_apply_command
from headrace.cli.plan.export_command import add_export_command
from headrace.cli.plan.lint_command import add_lint_command
from headrace.cli.plan.plan_command import add_plan_command


def add_operator_commands(app: typer.Typer, offsets: typer.Typer) -> None:
    """Add the groups of commands to ``app``, and those on offsets to ``offsets``."""
    connectors.registered_commands += connector_changes.registered_commands
    offsets.registered_commands += connector_offsets.registered_commands + offset_transfer.registered_commands
    for group in (connectors, tasks, topics, dlq, plugins, config, loggers, context):
        app.add_typer(group)
    add_cluster_command(app)
    add_logs_command(app)
    add_plan_command(app)
    add_apply_command(app)
    add_lint_command(app)
    add_export_command(app)
    add_preview_command(app)
    add_top_command(app)
