# SPDX-License-Identifier: Apache-2.0
"""Names of files and directories for what users have named: connectors and topics."""

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
"""Nothing that is quoted has it."""
_CAPITALS: Final = re.compile("[A-Z]")
"""All that are left when a name is quoted, but for those of its percent-encodings, which are the same everywhere."""


def file_name(*names: str) -> str:
    """Return a name that these ``names`` alone have, also on file systems that take capitals for small letters.

    It is the quoted names with "+" between them where that is one, else their beginning and a digest of them.
    """
    plain = plain_name(*names)
    if plain not in ("", ".", "..") and len(plain) <= _LONGEST and not any(map(_CAPITALS.search, names)):
        return plain
    digest = hashlib.sha256(plain.encode()).hexdigest()[:_DIGEST]
    return f"{plain[:_SHOWN].strip('.')}{_BEFORE_DIGEST}{digest}"


def plain_name(*names: str) -> str:
    """Return the quoted names with "+" between them. Some are too long, and "." and ".." name other directories."""
    return "+".join(quote(name, safe="", errors="surrogatepass") for name in names)
