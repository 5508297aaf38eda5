# SPDX-License-Identifier: Apache-2.0
"""`headrace doctor`: checks before a worker is started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headrace.api.errors import ConnectError
from headrace.cli.console import EXIT_FAILED, LogLevel, configure_logging, one_line_errors

if TYPE_CHECKING:
    from headrace.doctor.findings import CheckResult
    from headrace.doctor.subject import Subject

_NAME_WIDTH: Final = 16
_LEVEL_WIDTH: Final = 7
_COLORS: Final = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "problem": typer.colors.RED}


class Output(str, Enum):
    """The values of ``--output``."""

    TEXT = "text"
    JSON = "json"

    def __str__(self) -> str:
        return self.value


def doctor(
    worker_properties: Annotated[
        Path | None, typer.Argument(help="The properties file of a worker, distributed or standalone.")
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="Lines of text, or one JSON object.")] = Output.TEXT,
) -> None:
    """Check this machine, a worker's properties, ports, plugins, brokers, permissions and Spark. Changes nothing.

    Exit code 1 if there is a problem, with which the worker does not start or does not work as configured.
    """
    from headrace.doctor.checks import CHECKS
    from headrace.doctor.findings import has_problem
    from headrace.doctor.runner import run_checks

    configure_logging(LogLevel.ERROR)
    with one_line_errors(), _subject(worker_properties) as subject:
        results = run_checks(CHECKS, subject)
        _show(results, output)
        code = EXIT_FAILED if has_problem(results) else 0
    raise typer.Exit(code)


@contextmanager
def _subject(file: Path | None) -> Iterator[Subject]:
    """Yield the worker of a properties file, whose secrets are hidden in errors meanwhile."""
    from headrace.doctor.subject import Subject

    with ExitStack() as hidden:
        subject = Subject() if file is None else _of_file(file, hidden)
        hidden.callback(subject.kafka.close)
        yield subject


def _of_file(file: Path, hidden: ExitStack) -> Subject:
    from headrace.cli.worker_process import resolved_properties
    from headrace.cli.worker_properties import check_worker_properties
    from headrace.config.distributed_config import GROUP_ID, DistributedConfig
    from headrace.config.properties_file import read_properties
    from headrace.config.standalone_config import OFFSETS_FILE, StandaloneConfig
    from headrace.doctor.subject import Subject

    raw = read_properties(file)
    kind = StandaloneConfig if OFFSETS_FILE in raw and GROUP_ID not in raw else DistributedConfig
    try:
        properties = hidden.enter_context(resolved_properties(raw))
        check_worker_properties(kind, properties)
        return Subject(str(file), raw, kind(properties))
    except ConnectError as error:
        return Subject(str(file), raw, mistake=str(error))


def _show(results: Sequence[CheckResult], output: Output) -> None:
    if output is Output.JSON:
        import orjson

        found = [
            {"check": each.check, "level": str(finding.level), "found": finding.found, "remedy": finding.remedy}
            for each in results
            for finding in each.findings
        ]
        typer.echo(orjson.dumps({"findings": found}, option=orjson.OPT_INDENT_2).decode())
        return
    for result in results:
        for finding in result.findings:
            level = typer.style(str(finding.level).ljust(_LEVEL_WIDTH), fg=_COLORS[finding.level])
            typer.echo(f"{level}  {result.check.ljust(_NAME_WIDTH)}  {' '.join(finding.found.split())}")
            if finding.remedy:
                typer.echo(f"{'':{_LEVEL_WIDTH + _NAME_WIDTH + 2}}  → {' '.join(finding.remedy.split())}")
