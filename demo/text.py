# SPDX-License-Identifier: Apache-2.0
"""The text that the demo sends: the user's own file, or the sources of the Python that runs here."""

from __future__ import annotations

import sysconfig
from pathlib import Path

LINES = 400_000


def default_text(target: Path, lines: int = LINES) -> Path:
    """Write ``lines`` real lines to ``target``: the standard library's source, again and again if it is a short one."""
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    sources = [source for source in sources if "site-packages" not in source.parts]
    written = 0
    with target.open("wb") as out:
        while written < lines:
            for source in sources:
                for line in source.read_bytes().splitlines():
                    out.write(line + b"\n")
                    written += 1
                    if written == lines:
                        return target
    return target


def read_lines(file: Path) -> list[bytes]:
    """The file's lines as the connector sends them: UTF-8, malformed bytes replaced."""
    lines = file.read_bytes().splitlines()
    return [line if line.isascii() else line.decode("utf-8", "replace").encode() for line in lines]
