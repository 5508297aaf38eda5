# SPDX-License-Identifier: Apache-2.0
"""`python -m headrace` is `headrace`."""

from __future__ import annotations

from headrace.cli.main import app

if __name__ == "__main__":
    app(prog_name="headrace")
