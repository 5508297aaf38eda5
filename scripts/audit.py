# SPDX-License-Identifier: Apache-2.0
"""Ask PyPI for known vulnerabilities of the versions in the locks. Exit code 1 if there are any.

Where the database cannot be reached nothing is known: that is said, and is no failure.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

_LOCKS: Final = ("requirements.lock", "requirements-dev.lock", "requirements-jvm.lock")
_DATABASE: Final = "https://pypi.org/pypi/{}/{}/json"
_TIMEOUT_S: Final = 10
_AT_ONCE: Final = 8


def main() -> int:
    root = Path(__file__).parents[1]
    pins = {pin for lock in _LOCKS for pin in re.findall(r"(?m)^([\w.-]+)==(\S+)", (root / lock).read_text())}
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = [line for lines in pool.map(_known, sorted(pins)) for line in lines]
    except (OSError, ValueError) as error:
        print(f"==> Not audited: the database of vulnerabilities cannot be reached: {error}", file=sys.stderr)
        return 0
    print("\n".join(found) if found else f"No known vulnerability in {len(pins)} locked packages")
    return 1 if found else 0


def _known(pin: tuple[str, str]) -> list[str]:
    name, version = pin
    with urllib.request.urlopen(_DATABASE.format(name, version), timeout=_TIMEOUT_S) as answer:
        entries: list[dict[str, Any]] = json.load(answer).get("vulnerabilities", [])
    return [
        f"{name} {version}: {entry['id']}, fixed in {', '.join(entry['fixed_in']) or 'no version yet'}: {entry['link']}"
        for entry in entries
        if not entry.get("withdrawn")
    ]


if __name__ == "__main__":
    sys.exit(main())
