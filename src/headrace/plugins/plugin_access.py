# SPDX-License-Identifier: Apache-2.0
"""The modules that a worker may import for users' class names, and the connectors that it runs.

Both are checked before an import, which runs code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from headrace.config.worker_config import CONNECTORS_ALLOWED, CONNECTORS_DENIED
from headrace.plugins.builtin import KnownPlugin

ANY_MODULE: Final = "*"
_GLOB: Final = frozenset("*?[")


class ModuleAccess:
    """The set of modules that may be imported. Immutable; any thread may use it.

    These are modules below one of ``prefixes`` (``*``: all modules), modules found in a directory of ``plugin_path``,
    and modules in the package, or in packages below it, that a known plugin's entry point names.
    """

    def __init__(self, prefixes: Iterable[str], plugin_path: Iterable[str], known: Iterable[KnownPlugin]) -> None:
        self._prefixes = frozenset(prefix.removesuffix(".*").rstrip(".") for prefix in prefixes)
        self._directories = tuple(Path(directory).resolve() for directory in plugin_path)
        self._packages = frozenset(plugin.module.rpartition(".")[0] or plugin.module for plugin in known)

    def allows(self, module: str) -> bool:
        """Return True if the module may be imported. Reads directories; imports nothing."""
        if ANY_MODULE in self._prefixes:
            return True
        parents = {module[:end] for end, char in enumerate(module) if char == "."} | {module}
        return not parents.isdisjoint(self._prefixes | self._packages) or self._on_plugin_path(module)

    def _on_plugin_path(self, module: str) -> bool:
        """Return True if an import would find the module there, and no other one of its name before it on the path."""
        path: Sequence[str] | None = None
        name = ""
        for part in module.split("."):
            name = f"{name}.{part}" if name else part
            spec = PathFinder.find_spec(name, path)
            if spec is None:
                return False
            if spec.origin is not None:  # the modules of a package are in its directory
                origin = Path(spec.origin).resolve()
                return any(origin.is_relative_to(directory) for directory in self._directories)
            path = list(spec.submodule_search_locations or ())  # a namespace package, spread over directories
        return False


@dataclass(frozen=True, slots=True)
class ConnectorLists:
    """The names and glob patterns of ``connectors.allowlist`` and ``connectors.denylist``.

    One has to match any of a connector's names. An empty ``allowed`` allows all.
    """

    allowed: Collection[str] = ()
    denied: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.allowed or self.denied)

    def refusal(self, names: Collection[str]) -> str | None:
        """Return the reason why a connector with these names does not run here; None if it does."""
        pattern = _match(self.denied, names)
        if pattern is not None:
            return f"this worker runs no such connector: {CONNECTORS_DENIED} has '{pattern}'"
        if self.allowed and _match(self.allowed, names) is None:
            return f"this worker runs no such connector: {CONNECTORS_ALLOWED} does not have it"
        return None

    def unknown(self, names: Collection[str]) -> Iterator[str]:
        """Iterate over the denied plain names that no connector has: they may be misspelled."""
        return (each for each in self.denied if _GLOB.isdisjoint(each) and each not in names)


ALL_CONNECTORS: Final = ConnectorLists()


def _match(patterns: Iterable[str], names: Collection[str]) -> str | None:
    return next((each for each in patterns if any(fnmatchcase(name, each) for name in names)), None)
