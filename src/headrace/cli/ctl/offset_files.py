# SPDX-License-Identifier: Apache-2.0
"""Files of offsets: of `offsets export`, and of any JSON with "offsets" in the form of the REST API."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, read_json
from headrace.cli.ctl.offset_changes import canonical

FORMAT: Final = 1
SUFFIX: Final = ".offsets.json"
_SHAPE: Final = '{"offsets": [{"partition": {…}, "offset": {…}}]}'
_TEXTS: Final = ("connector", "class", "type", "kafka_cluster_id", "time")


@dataclass(frozen=True, slots=True)
class OffsetsFile:
    """A file's offsets, and what it says of their connector; None where it says nothing."""

    path: Path
    offsets: list[dict[str, Any]]
    connector: str | None = None
    connector_class: str | None = None
    type: str | None = None


def document(connector: str, config: Any, kind: str, about: Any, time: str, offsets: Any) -> dict[str, Any]:
    """Return the content of a file. Its form is documented in docs/guide/connector-offsets.md."""
    return {
        "format": FORMAT,
        "connector": connector,
        "class": (config or {}).get("connector.class"),
        "type": kind,
        "kafka_cluster_id": about.get("kafka_cluster_id"),
        "time": time,
        "offsets": offsets,
    }


def json_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a file in one step: there is never half of one, nor none where one was. Raise CtlError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json_text(content), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise CtlError(f"{path} cannot be written: {error.strerror or error}") from error


def file_of(directory: Path, connector: str) -> Path:
    """Return the file of a connector in a directory; the name is percent-encoded, whatever it contains."""
    return directory / f"{quote(connector, safe='')}{SUFFIX}"


def files_in(directory: Path) -> list[Path]:
    """Return the files of all connectors in a directory. Raise ArgumentError if there are none."""
    found = sorted(directory.glob(f"*{SUFFIX}"))
    if not found:
        raise ArgumentError(f"There are no files *{SUFFIX} in {directory}")
    return found


def read(path: Path) -> OffsetsFile:
    """Return the offsets of a file. Raise ArgumentError for one that is not readable, or not valid."""
    found = read_json(path)
    wanted = found.get("offsets") if isinstance(found, dict) else None
    if not isinstance(wanted, list) or not all(_is_offset(each) for each in wanted):
        raise ArgumentError(f"{path} is not of the shape {_SHAPE}")
    for mistake in _mistakes(found, wanted):
        raise ArgumentError(f"{path}: {mistake}")
    return OffsetsFile(path, wanted, found.get("connector"), found.get("class"), found.get("type"))


def _mistakes(found: dict[str, Any], wanted: Sequence[dict[str, Any]]) -> Iterator[str]:
    if found.get("format", FORMAT) != FORMAT:
        yield f"its format is {json.dumps(found['format'])}, and this version of headrace reads {FORMAT} only"
    for name in _TEXTS:
        if not isinstance(found.get(name), str | None):
            yield f"{name} is not a text"
    seen: set[str] = set()
    for each in wanted:
        key = canonical(each["partition"])
        if key in seen:
            yield f"the partition {key} occurs twice"
        seen.add(key)


def _is_offset(each: Any) -> bool:
    fields = isinstance(each, dict) and each.keys() == {"partition", "offset"}
    return fields and isinstance(each["partition"], dict) and isinstance(each["offset"], dict | None)
