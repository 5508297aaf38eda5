# SPDX-License-Identifier: Apache-2.0
"""The files by which Spark's JVM gets its settings: all users of the machine can see a command line.

Only the worker's user can read them, and they are removed when the JVM is up.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.spark.engine.spark_settings import JAVA_OPTIONS

_DEFAULT_JAVA_OPTIONS: Final = "spark.driver.defaultJavaOptions"
_ESCAPED: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True, slots=True)
class Submission:
    """The files with settings and options of one start."""

    properties: Path
    options: Path

    @classmethod
    def write_files(cls, directory: Path, conf: Mapping[str, str], java_options: Sequence[str] = ()) -> Submission:
        """Write the files into ``directory``, which no other user may enter. OSError.

        ``java_options`` come before those of ``conf``, which win.
        """
        made = cls(directory / "spark.properties", directory / "java.options")
        given = [word for name in (_DEFAULT_JAVA_OPTIONS, JAVA_OPTIONS) for word in shlex.split(conf.get(name, ""))]
        _write_private(made.options, "".join(f"{_argument(word)}\n" for word in (*java_options, *given)))
        # Java reads options from a file after "@"; Spark's launcher passes that on.
        settings = {**conf, _DEFAULT_JAVA_OPTIONS: "", JAVA_OPTIONS: shlex.quote(f"@{made.options}")}
        _write_private(made.properties, "".join(f"{_key(name)}={_value(settings[name])}\n" for name in settings))
        return made

    def remove(self) -> None:
        for file in (self.properties, self.options):
            file.unlink(missing_ok=True)


def _write_private(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="utf-8") as opened:
        opened.write(text)


def _argument(word: str) -> str:
    """Quote a word as the ``java`` command reads files of arguments."""
    return '"' + word.translate(_ESCAPED).replace('"', '\\"') + '"'


def _key(name: str) -> str:
    return re.sub(r"([\\=:#!\s])", r"\\\1", name)


def _value(text: str) -> str:
    """Escape a value as Java reads property files; leading blanks would be lost."""
    return re.sub(r"^(?=[ \f])", r"\\", text.translate(_ESCAPED))
