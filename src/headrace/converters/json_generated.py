# SPDX-License-Identifier: Apache-2.0
"""Functions for structs made of source code, as those of `dataclasses` are: a loop over fields takes twice the time.

What is generated holds the numbers of fields and nothing of what a user named: names, functions and schemas come as
variables. So no text from a schema, which may come with the data, is ever run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def function_of_value(body: Sequence[str], variables: Mapping[str, Any]) -> Callable[[Any], Any]:
    """The function of `value` with this body, one statement a line, that sees `variables`."""
    namespace = dict(variables)
    exec("\n ".join(["def function(value):", *body]), namespace)
    return namespace["function"]  # type: ignore[no-any-return]
