# SPDX-License-Identifier: Apache-2.0
"""A machine without JPype: nothing imports it before a Java plugin is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.api.errors import DataError
from headrace.java.to_python import unique_keys


def test_without_jpype_the_error_names_the_extra() -> None:
    script = (
        "import sys\n"
        "sys.modules['jpype'] = None\n"
        "import headrace.java.converters, headrace.java.transformations, headrace.java.config_def\n"
        "from headrace.api.errors import ConfigError\n"
        "cls = headrace.java.converters.converter_class((), 'a.B')\n"
        "for call in (cls().config, lambda: cls().configure({}, False)):\n"
        "    try: call()\n"
        "    except ConfigError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "Java plugins need JPype. Install it: pip install 'headrace[java]'\n" * 2


def test_keys_are_unique_and_hashable() -> None:
    assert unique_keys([(1, "a"), ("1", "b"), (None, "c")]) == {1: "a", "1": "b", None: "c"}
    with pytest.raises(DataError, match="the same to Python: True"):
        unique_keys([(1, "a"), (True, "b")])
    with pytest.raises(DataError, match="no maps with keys such as"):
        unique_keys([([1], "a")])
