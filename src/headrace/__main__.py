# SPDX-License-Identifier: Apache-2.0
"""`python -m headrace` is `headrace`."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # The working directory, where connectors may write: nothing is to be imported from there.
    del sys.path[0]

from headrace.cli.main import app

if __name__ == "__main__":
    app(prog_name="headrace")
