# SPDX-License-Identifier: Apache-2.0
"""The files by which Spark's JVM gets its settings: a command line is for all users of the machine to see.

They are for the worker's user alone, and are removed when the JVM is up.
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
    """Settings and options of one start, written into ``directory``, which nobody else may enter."""

    properties: Path
    options: Path

    @classmethod
    def write(cls, directory: Path, conf: Mapping[str, str], java_options: Sequence[str] = ()) -> Submission:
        """``java_options`` come before those of ``conf``, which win. OSError."""
        made = cls(directory / "spark.properties", directory / "java.options")
        given = [word for name in (_DEFAULT_JAVA_OPTIONS, JAVA_OPTIONS) for word in shlex.split(conf.get(name, ""))]
        _write_private(made.options, "".join(f"{_argument(word)}\n" for word in (*java_options, *given)))
        # Java reads its options from a file that is named so; Spark's launcher passes the name on.
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
    """As the ``java`` command reads files of arguments."""
    return '"' + word.translate(_ESCAPED).replace('"', '\\"') + '"'


def _key(name: str) -> str:
    return re.sub(r"([\\=:#!\s])", r"\\\1", name)


def _value(text: str) -> str:
    """As Java reads property files; blanks at the beginning would not count."""
    return re.sub(r"^(?=[ \f])", r"\\", text.translate(_ESCAPED))
