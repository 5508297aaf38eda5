# SPDX-License-Identifier: Apache-2.0
"""Lines about the commands, files and counts of a quickstart. Pure but for the search of programs."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from headrace.cli.ctl.address import URL_VARIABLE
from headrace.cli.quickstart.comparison import Comparison
from headrace.cli.quickstart.connector_pair import ConnectorPair


def lines_while_running(url: str, pair: ConnectorPair, output: Path) -> Sequence[str]:
    """Return what can be tried while it runs."""
    headrace = program("headrace")
    return (
        f"files: {output}",
        f"console: {url}/console",
        "In another terminal:",
        f"  export {URL_VARIABLE}={url}",
        f"  {headrace} connectors ls",
        f"  {headrace} connectors describe {pair.source}",
        f"  {headrace} offsets get {pair.source}",
        "Ctrl-C ends everything.",
    )


def lines_at_end(comparison: Comparison, pair: ConnectorPair, output: Path, kept: Path | None) -> Sequence[str]:
    """Return counts, files and next commands; `kept` is the directory of a quickstart that can be continued."""
    # Single quotes for the shell, so double ones for Python.
    read = f"import pandas; print(pandas.read_parquet({json.dumps(str(output))}))"
    headrace = program("headrace")
    continued = f"{headrace} quickstart --directory {shlex.quote(str(kept))}"
    if file := pair.source_config.get("file"):
        continued += f" --file {shlex.quote(file)}"
    return (
        "",
        _counted(f"records in topic {pair.topic}", comparison.records),
        _counted("rows in Parquet", comparison.rows),
        _counted("missing", comparison.missing),
        _counted("duplicates", comparison.duplicates),
        "Each record is there exactly once." if comparison.exactly_once else "NOT exactly once.",
        "",
        "Read the rows:",
        f"  {program('python')} -c {shlex.quote(read)}",
        "Continue:" if kept else "Next:",
        *((f"  {continued}",) if kept else ()),
        f"  {headrace} init my-worker    # the files of a worker, and what to do with them",
        f"  {headrace} --help",
        f"Remove the files: rm -r {shlex.quote(str(output.parent))}",
    )


def _counted(what: str, number: int) -> str:
    return f"{what:<30} {number:>10,}"


def program(name: str) -> str:
    """Return how the user calls a program of this environment: by its name if that is found, else by its path."""
    own = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    return name if found is not None and Path(found) == own else shlex.quote(str(own))
