# SPDX-License-Identifier: Apache-2.0
"""Calls all kinds of plugins of BadSource.java, whose exceptions are their own causes; prints the errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from headrace.api.errors import ConnectError
from headrace.api.record import SourceRecord
from headrace.java.committed_records import CommittedRecords
from headrace.java.converters import converter_class, header_converter_class
from headrace.java.data import java_map
from headrace.java.errors import java_errors
from headrace.java.functions import BatchFunction
from headrace.java.instances import HeldInstance, held_instance
from headrace.java.jvm import Jars
from headrace.java.polled_records import PolledRecords
from headrace.java.record_functions import conversion_function, transformation_function
from headrace.java.records import java_source_record
from headrace.java.transformations import predicate_class, transformation_class

Call = Callable[[Jars], Any]
_RECORD: Final = SourceRecord({}, {}, "t", value="text")


def _converter(jars: Jars, method: str) -> Any:
    return _made(converter_class(jars, "BadSource$BadConverter"), method, False)


def _header_converter(jars: Jars, method: str) -> Any:
    return _made(header_converter_class(jars, "BadSource$BadHeaderConverter"), method)


def _transformation(jars: Jars, method: str) -> Any:
    return _made(transformation_class(jars, "BadSource$BadTransformation"), method)


def _predicate(jars: Jars, method: str) -> Any:
    return _made(predicate_class(jars, "BadSource$BadPredicate"), method)


def _started(jars: Jars, method: str) -> HeldInstance:
    task = held_instance(jars, "BadSource$BadTask")
    task.start(java_map({"mood": f"{method}:cycle"}))
    return task


def _made(cls: Any, method: str, *more: Any) -> Any:
    """Return a configured plugin whose ``method`` throws such an exception."""
    plugin = cls()
    plugin.configure({"mood": f"{method}:cycle"}, *more)
    return plugin


def _batch(function: Any) -> None:
    """Apply a function to records, and once more to the first one, which has failed."""
    BatchFunction(function)(_polled(2), lambda row, error, again: again())


def _polled(count: int) -> Any:
    return PolledRecords([java_source_record(_RECORD)] * count).java


def _commit(jars: Jars) -> None:
    task = _started(jars, "commitRecord")
    CommittedRecords(task).commit("t", _polled(2), [(0, 0, 0, None), (1, 0, 1, None)])


CALLS: Final[Mapping[str, Call]] = {
    "a converter is configured": lambda jars: _converter(jars, "configure"),
    "data is written": lambda jars: _converter(jars, "convert").from_connect_data("t", None, "text"),
    "data is read": lambda jars: _converter(jars, "read").to_connect_data("t", b"text"),
    "a header is written": lambda jars: _header_converter(jars, "convert").from_connect_header("t", "h", None, "text"),
    "a header is read": lambda jars: _header_converter(jars, "read").to_connect_header("t", "h", b"text"),
    "a record is transformed": lambda jars: _transformation(jars, "apply").apply(_RECORD),
    "a transformation is closed": lambda jars: _transformation(jars, "close").close(),
    "a record is tested": lambda jars: _predicate(jars, "test").test(_RECORD),
    "a task is started": lambda jars: _started(jars, "task.start"),
    "records are committed": _commit,
    "a batch is converted": lambda jars: _batch(conversion_function(_converter(jars, "convert").java, False)),
    "a batch is transformed": lambda jars: _batch(
        transformation_function(_transformation(jars, "apply").java, None, False)
    ),
    "a batch is tested": lambda jars: _batch(
        transformation_function(_transformation(jars, "none").java, _predicate(jars, "test").java, True)
    ),
}


def main() -> None:
    """Make the calls, one after the other."""
    jars = (Path(sys.argv[1]),)
    for name, call in CALLS.items():
        try:
            with java_errors():
                call(jars)
        except ConnectError as error:
            assert "CIRCULAR REFERENCE" in "".join(error.__notes__)
            print(f"{name}: {error}", flush=True)


if __name__ == "__main__":
    main()
