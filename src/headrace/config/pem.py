# SPDX-License-Identifier: Apache-2.0
"""PEM in properties: often in one line, which OpenSSL does not accept."""

from __future__ import annotations

import re
from typing import Final

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


def pem_blocks(text: str) -> list[tuple[str, str]]:
    """Return the kind of each block in ``text``, such as "CERTIFICATE", with the block as OpenSSL wants it."""
    return [(found[1], _block(found[1], found[2])) for found in _BLOCK.finditer(text)]


def pem(text: str) -> str:
    """Return all blocks of ``text`` as OpenSSL wants them, without the text between them."""
    return "".join(block for _, block in pem_blocks(text))


def _block(kind: str, body: str) -> str:
    if ":" not in body:  # a body with headers keeps its lines
        joined = "".join(body.split())
        body = "\n".join(joined[at : at + 64] for at in range(0, len(joined), 64))
    return f"-----BEGIN {kind}-----\n{body.strip()}\n-----END {kind}-----\n"
