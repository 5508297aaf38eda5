# SPDX-License-Identifier: Apache-2.0
"""Reads the files and directories that are given with ``-f``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.cli.plan.connector_documents import DocumentError, parse
from headrace.cli.plan.desired_connectors import Desired, desired_connectors, repeated
from headrace.cli.plan.findings import Finding

_YAML: Final = (".yaml", ".yml")
_SUFFIXES: Final = (*_YAML, ".json", ".properties")


@dataclass(frozen=True, slots=True)
class Described:
    """The connectors of some files, and the errors of those that cannot be understood."""

    connectors: Sequence[Desired]
    findings: Sequence[Finding]


def read_connectors(paths: Sequence[Path], variables: Mapping[str, str]) -> Described:
    """Read all files. A name that is there twice is an error; a variable without a value is in ``Desired.unset``."""
    found = [each for path in paths for each in _of_path(path, variables)]
    connectors = [each for each in found if isinstance(each, Desired)]
    findings = [each for each in found if isinstance(each, Finding)]
    findings += repeated(connectors)
    if not found:
        findings.append(Finding("there is no connector in it", ", ".join(map(str, paths))))
    return Described(connectors, findings)


def _of_path(path: Path, variables: Mapping[str, str]) -> Iterator[Desired | Finding]:
    if not path.is_dir():
        yield from _of_file(path, variables)
        return
    files = sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES and each.is_file())
    if not files:
        yield Finding(f"the directory has no file that ends with {', '.join(_SUFFIXES)}", str(path))
    for file in files:
        yield from _of_file(file, variables)


def _of_file(path: Path, variables: Mapping[str, str]) -> Iterator[Desired | Finding]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        yield Finding(error.strerror or str(error), str(path))
        return
    except UnicodeDecodeError:
        yield Finding("it is not UTF-8", str(path))
        return
    suffix = path.suffix if path.suffix in _SUFFIXES else _kind(text)
    try:
        for document in parse(text, suffix):
            yield from desired_connectors(document, str(path), variables, one=suffix == ".properties")
    except DocumentError as error:
        yield Finding(str(error), str(path), error.line)


def _kind(text: str) -> str:
    """Return the suffix for a file with another name."""
    return ".json" if text.lstrip().startswith(("{", "[")) else ".properties"
