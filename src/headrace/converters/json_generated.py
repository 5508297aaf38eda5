# SPDX-License-Identifier: Apache-2.0
"""Functions generated as source code, as `dataclasses` does: a loop over a struct's fields takes twice the time.

The code contains the positions of fields, but no text of users: names, functions and schemas are passed as variables.
So no text of a schema, which may come with the data, is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def function_of_value(body: Sequence[str], variables: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a function of `value` with this body, one statement per line, with `variables` as its globals."""
    namespace = dict(variables)
    exec("\n ".join(["def function(value):", *body]), namespace)
    return namespace["function"]  # type: ignore[no-any-return]
