# SPDX-License-Identifier: Apache-2.0
"""Names of files and directories for names that users have chosen: of connectors and topics."""

from __future__ import annotations

import hashlib
import re
from typing import Final
from urllib.parse import quote

_LONGEST: Final = 150
"""In characters. File systems take 255 bytes, and batches of files, their checksums and drafts need the rest."""
_SHOWN: Final = 60
_DIGEST: Final = 32
_BEFORE_DIGEST: Final = "@"
"""A character that no quoted name contains."""
_CAPITALS: Final = re.compile("[A-Z]")
"""The capitals that stay when a name is quoted. Those of percent-encodings are always the same."""


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
