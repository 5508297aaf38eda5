# SPDX-License-Identifier: Apache-2.0
"""Which modules a worker imports because a user named a class in them. Importing runs code, so it is asked before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from headrace.plugins.builtin import KnownPlugin

ANY_MODULE: Final = "*"


class ModuleAccess:
    """Immutable; may be used from any thread.

    Allowed are modules below one of ``prefixes`` (``*``: all modules), modules found in a directory of ``plugin_path``,
    and modules beside a known plugin's: in the package that its entry point names, or in that package's packages.
    """

    def __init__(self, prefixes: Iterable[str], plugin_path: Iterable[str], known: Iterable[KnownPlugin]) -> None:
        self._prefixes = frozenset(prefix.removesuffix(".*").rstrip(".") for prefix in prefixes)
        self._directories = tuple(Path(directory).resolve() for directory in plugin_path)
        self._packages = frozenset(plugin.module.rpartition(".")[0] or plugin.module for plugin in known)

    def allows(self, module: str) -> bool:
        """Reads directories; imports nothing."""
        if ANY_MODULE in self._prefixes:
            return True
        parents = {module[:end] for end, char in enumerate(module) if char == "."} | {module}
        return not parents.isdisjoint(self._prefixes | self._packages) or self._on_plugin_path(module)

    def _on_plugin_path(self, module: str) -> bool:
        """Whether an import would find it there; a module of the same name that stands before it on the path counts."""
        path: Sequence[str] | None = None
        name = ""
        for part in module.split("."):
            name = f"{name}.{part}" if name else part
            spec = PathFinder.find_spec(name, path)
            if spec is None:
                return False
            if spec.origin is not None:  # all that is in a package comes from where the package is
                origin = Path(spec.origin).resolve()
                return any(origin.is_relative_to(directory) for directory in self._directories)
            path = list(spec.submodule_search_locations or ())  # a namespace package, spread over directories
        return False
