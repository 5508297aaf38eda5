# SPDX-License-Identifier: Apache-2.0
"""Names of connectors' classes: whether two mean one class, on headrace's and on Java's workers. Pure."""

from __future__ import annotations

_SUFFIX = "Connector"


def listed_class(name: str | None) -> str:
    """Return the full name of a connector of headrace's own, that of Java's class if it has one; else the name."""
    from headrace.plugins.builtin import BUILT_IN, JAVA_PREFIX, PluginKind

    wanted = (name or "").strip().removeprefix(JAVA_PREFIX)
    for known in BUILT_IN:
        if known.kind is PluginKind.CONNECTOR and wanted in known.names():
            return known.class_name
    return wanted.replace(":", ".")


def is_same_class(one: str | None, other: str | None) -> bool:
    """Return True if two names mean one class; a name without a package means any class of that name."""
    names = listed_class(one), listed_class(other)
    if names[0] == names[1]:
        return bool(names[0])
    parts = [name.rpartition(".") for name in names]
    short = [last.removesuffix(_SUFFIX) or last for _, _, last in parts]
    return short[0] == short[1] and not all(package for package, _, _ in parts)
