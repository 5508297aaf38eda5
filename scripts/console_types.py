# SPDX-License-Identifier: Apache-2.0
"""Check the types of the console's modules by `tsc --checkJs`; skipped, and said, where there is no node or npm."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from headrace.api.errors import ConfigError
from scripts.npm_packages import TYPESCRIPT, unpacked


def main() -> int:
    node = shutil.which("node")
    if node is None:
        print("skipped: there is no node on this machine")
        return 0
    try:
        compiler = unpacked(TYPESCRIPT) / "lib" / "tsc.js"
    except ConfigError as error:
        print(f"skipped: {error}")
        return 0
    config = Path(__file__).with_name("console.tsconfig.json")
    return subprocess.run([node, str(compiler), "--project", str(config)]).returncode


if __name__ == "__main__":
    sys.exit(main())
