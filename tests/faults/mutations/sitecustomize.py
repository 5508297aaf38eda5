# SPDX-License-Identifier: Apache-2.0
"""First on a worker's import path, leaves out protections in all its processes: the modules beside this one.

`HEADRACE_TEST_MUTATIONS` names them, with commas; `HEADRACE_TEST_DIRECTORY` is where each leaves a file of its name.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

for name in os.environ["HEADRACE_TEST_MUTATIONS"].split(","):
    importlib.import_module(name)
    Path(os.environ["HEADRACE_TEST_DIRECTORY"], name).touch()
