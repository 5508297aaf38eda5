# SPDX-License-Identifier: Apache-2.0
"""The log of a broker, which Log4j rolls when it is large."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_from_now(log: Path) -> Iterator[Callable[[], bytes]]:
    """Give a function that returns all that `log` has got since, in its next file, too, once it has been rolled.

    The file is made if there is none yet. The function is for one thread, and for the time of the context.
    """
    with log.open("ab+") as file:
        start = file.tell()

        def written() -> bytes:
            file.seek(start)
            found = file.read()
            with suppress(FileNotFoundError):  # between the renaming of a file and the making of the next
                if not os.path.samestat(os.fstat(file.fileno()), log.stat()):
                    found += log.read_bytes()
            return found

        yield written
