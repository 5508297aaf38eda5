# SPDX-License-Identifier: Apache-2.0
"""Messages of a process that Java code ends by ``System.exit``: a line of its output, and a report to its worker.

Nobody waits for the status of a task's process: without them it is just lost. The end of the interpreter does not
destroy the JVM, so its shutdown hooks run if Java code has ended the process, and not if that was halted.
"""

from __future__ import annotations

from itertools import dropwhile
from typing import Any, Final

from headrace.model.process_end import report_exit

_LINE: Final = "WARN headrace.java - Java code has called System.exit, which ends this process"
_INVOKE: Final = "java.lang.invoke"
_OF_EXIT: Final = ("java.lang.System", "java.lang.Runtime")
"""The classes of the methods ``exit``."""
_HOOKS_RUN_BY: Final = "java.lang.ApplicationShutdownHooks"
_REPORT_S: Final = 5
"""Seconds that the report has: its thread may wait in vain for Python's lock, or for the worker to read."""


def watch_exits() -> None:
    """Have an exit by Java code printed and reported from now on. The JVM must be started."""
    _add_hook(_printing())
    _add_hook(_reporting())


def _printing() -> Any:
    """Return a handle that prints the line, by Java alone."""
    import jpype

    kind = _method_type(_class("java.lang.Void").TYPE, _class("java.lang.String").class_)
    return _bound(_class("java.lang.System").err, "println", kind, jpype.JString(_LINE))


def _reporting() -> Any:
    """Return a handle that has another thread report the exit, and waits for that for some seconds only."""
    import jpype

    report = jpype.JProxy(_class("java.util.concurrent.Callable"), dict={"call": _report})
    unit, a_list, collection = map(_class, ("java.util.concurrent.TimeUnit", "java.util.List", "java.util.Collection"))
    kind = _method_type(a_list.class_, collection.class_, _class("java.lang.Long").TYPE, unit.class_)
    # Its thread is made when it is needed.
    pool = _class("java.util.concurrent.Executors").newFixedThreadPool(1)
    limit = _class("java.lang.Long").valueOf(_REPORT_S)
    return _bound(pool, "invokeAll", kind, a_list.of(report), limit, unit.SECONDS)


def _report() -> None:
    report_exit(_caller())


def _caller() -> str | None:
    """Return the method that has called ``exit``, as ``org.example.Class.method (Class.java:7)``, if it is known."""
    for stack in _class("java.lang.Thread").getAllStackTraces().values():
        frames = iter(stack)
        if any(frame.getClassName() == _HOOKS_RUN_BY for frame in frames):
            below = dropwhile(lambda frame: not _is_exit(frame), frames)
            return next((_shown(frame) for frame in below if not _is_exit(frame)), None)
    return None


def _is_exit(frame: Any) -> bool:
    return frame.getMethodName() == "exit" and frame.getClassName() in _OF_EXIT


def _shown(frame: Any) -> str:
    file, line = frame.getFileName(), frame.getLineNumber()
    place = "" if file is None else f" ({file}:{line})" if line > 0 else f" ({file})"
    return f"{frame.getClassName()}.{frame.getMethodName()}{place}"


def _add_hook(handle: Any) -> None:
    runnable = _class("java.lang.Runnable").class_
    run = _class(f"{_INVOKE}.MethodHandleProxies").asInterfaceInstance(runnable, handle)
    _class("java.lang.Runtime").getRuntime().addShutdownHook(_class("java.lang.Thread")(run))


def _bound(receiver: Any, method: str, kind: Any, *arguments: Any) -> Any:
    """Return a handle of a public method with its receiver and all its arguments."""
    handles = _class(f"{_INVOKE}.MethodHandles")
    return handles.insertArguments(handles.publicLookup().bind(receiver, method, kind), 0, *arguments)


def _method_type(result: Any, *parameters: Any) -> Any:
    import jpype

    return _class(f"{_INVOKE}.MethodType").methodType(result, jpype.JArray(_class("java.lang.Class"))(parameters))


def _class(name: str) -> Any:
    import jpype

    return jpype.JClass(name)
