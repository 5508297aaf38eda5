# SPDX-License-Identifier: Apache-2.0
"""A Python for executors of a Spark cluster, as the guide asks for it: without what the worker sends."""

from __future__ import annotations

import sys
import sysconfig
import tarfile
from pathlib import Path

_OURS = ("headrace", "_editable_impl_headrace", "platformdirs")


def python_without_headrace(directory: Path) -> Path:
    """An archive whose `bin/python` has all that this Python has but headrace and platformdirs; for `spark.archives`.

    Its libraries are links to this environment's: it is of use on this machine only.
    """
    made = directory / "environment"
    (made / "bin").mkdir(parents=True)
    (made / "site").mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(_OURS):
            (made / "site" / entry.name).symlink_to(entry)
    base = getattr(sys, "_base_executable", sys.executable)
    script = f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:$(dirname "$0")/../site" exec {base} "$@"\n'
    (made / "bin" / "python").write_text(script)
    (made / "bin" / "python").chmod(0o755)
    archive = directory / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for entry in made.iterdir():
            packed.add(entry, entry.name)
    return archive
