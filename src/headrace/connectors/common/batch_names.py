# SPDX-License-Identifier: Apache-2.0
"""Names of batches' files, unique for names that users have chosen, and topics distinguished by their ids. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

DIGITS: Final = 20
_OFFSETS: Final = re.compile(rf"(\d{{{DIGITS}}})-(\d{{{DIGITS}}})(?:\+(\d+))?(?!\d)")
"""The part of a name behind its stem: the first and the last offset, and the number of rewinds."""
_LONGEST: Final = 150
"""In characters. File systems take 255 bytes, and batches of files, their checksums and drafts need the rest."""
_SHOWN: Final = 60
_DIGEST: Final = 32
_BEFORE_DIGEST: Final = "@"
"""A character that no quoted name contains."""
_CAPITALS: Final = re.compile("[A-Z]")
"""The capitals that stay when a name is quoted. Those of percent-encodings are always the same."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records ``first`` to ``last``, both included, of a partition; names are offsets."""

    topic: str
    partition: int
    first: int
    last: int
    rewinds: int = 0

    def file_name(self, connector: str, number: int, suffix: str) -> str:
        """Return the name of its file ``number`` within one directory."""
        stem = file_stem(file_name(connector, self.topic), self.partition)
        offsets = f"{self.first:0{DIGITS}}-{self.last:0{DIGITS}}"
        again = f"+{self.rewinds}" if self.rewinds else ""
        numbered = f"-{number}" if number else ""
        return f"{stem}{offsets}{again}{numbered}{suffix}"


def moves(batch: Batch, connector: str, written: Iterable[str]) -> dict[str, str]:
    """Return the targets of the files that Spark has written: the same directories, with names of the batch."""
    targets: dict[str, str] = {}
    numbers: dict[tuple[str, str], int] = {}
    for path in sorted(written):
        directory, _, name = path.rpartition("/")
        if any(map(_hidden, path.split("/"))):
            continue
        suffix = _suffix(name)
        number = numbers.get((directory, suffix), 0)
        numbers[directory, suffix] = number + 1
        made = batch.file_name(connector, number, suffix)
        targets[path] = f"{directory}/{made}" if directory else made
    return targets


def _hidden(name: str) -> bool:
    """Return True if Spark's readers skip the name; a partition's directory is named after its column."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _suffix(name: str) -> str:
    """Return the file's suffix: ``.snappy.parquet`` of ``part-00000-<id>.c000.snappy.parquet``."""
    parts = name.split(".")[1:]
    return "".join(f".{part}" for part in parts if not (part.startswith("c") and part[1:].isdigit()))


def file_stem(connector_and_topic: str, partition: int) -> str:
    """Return the prefix of the names of all files of a partition."""
    # Readers pass over names that begin with a dot or an underscore, as those of topics may.
    return f"part-{connector_and_topic}+{partition}+"


def offsets_in(name: str, stems: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the first and the last offset in the name of a batch's file, and its rewinds; None for other files."""
    stem = next(filter(name.startswith, stems), None)
    found = _OFFSETS.match(name.removeprefix(stem)) if stem else None
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def file_name(*names: str) -> str:
    """Return a name that is unique for ``names``, also on file systems that ignore case.

    It is the quoted names joined by "+" where that is unique and short enough, else their beginning and a digest.
    """
    plain = plain_name(*names)
    if plain not in ("", ".", "..") and len(plain) <= _LONGEST and not any(map(_CAPITALS.search, names)):
        return plain
    digest = hashlib.sha256(plain.encode()).hexdigest()[:_DIGEST]
    return f"{plain[:_SHOWN].strip('.')}{_BEFORE_DIGEST}{digest}"


def plain_name(*names: str) -> str:
    """Return the quoted names joined by "+". Some are too long, and "." and ".." name other directories."""
    return "+".join(quote(name, safe="", errors="surrogatepass") for name in names)


def are_different(one: str, other: str) -> bool:
    """Return True if two ids belong to two topics. Ids from brokers without topic ids are empty, and equal to any."""
    return bool(one and other) and one != other
