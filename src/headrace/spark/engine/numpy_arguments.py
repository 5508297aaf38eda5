# SPDX-License-Identifier: Apache-2.0
"""NumPy's values as arguments of calls to Spark's JVM, which cost nothing where there are none.

For each argument of each call PySpark looks whether NumPy is there, by `pyspark.testing`. That imports pandas, PyArrow
and unittest: half a second of CPU and 40 MB in a worker that needs none of them.
"""

from __future__ import annotations

from typing import Any, Final

_NUMPY: Final = "numpy"


class NumpyArgument:
    """One of PySpark's converters for Py4J, which is asked about values of NumPy's types only. Any thread."""

    def __init__(self, converter: Any) -> None:
        self._converter = converter

    def can_convert(self, value: Any) -> bool:
        return any(base.__module__ == _NUMPY for base in type(value).__mro__) and self._converter.can_convert(value)

    def convert(self, value: Any, gateway_client: Any) -> Any:
        return self._converter.convert(value, gateway_client)


def look_at_numpy_values_only(gateway: Any) -> None:
    """Have PySpark's converters, of this gateway and any other, not look for NumPy before a value of NumPy's comes."""
    from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

    kinds, converters = (NumpyArrayConverter, NumpyScalarConverter), gateway._gateway_client.converters
    # In place: the gateways of a process share the list.
    converters[:] = [NumpyArgument(each) if isinstance(each, kinds) else each for each in converters]
