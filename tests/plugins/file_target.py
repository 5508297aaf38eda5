# SPDX-License-Identifier: Apache-2.0
"""A target of Singer that appends the field `n` of each record to a file. A program of the standard library alone.

It writes what it has, and only then returns the STATE: at each STATE if `eager` is set, else at its end alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    config = json.loads(Path(sys.argv[2]).read_text())
    held: list[str] = []
    state = None

    def flush() -> None:
        # One write, which SIGKILL does not divide.
        os.write(file, "".join(f"{each}\n" for each in held).encode())
        os.fsync(file)
        held.clear()
        print(json.dumps(state), flush=True)

    file = os.open(config["file"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "RECORD":
            held.append(message["record"]["n"])
        elif message["type"] == "STATE":
            state = message["value"]
            if config.get("eager"):
                flush()
    if state is not None:
        flush()


main()
