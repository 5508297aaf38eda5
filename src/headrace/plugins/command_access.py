# SPDX-License-Identifier: Apache-2.0
"""The programs that a worker starts for connectors' configurations: none, unless its administrator allows them.

What `headrace singer install` has installed is not a matter of this rule. It applies to whatever configuration has the
property, of any connector or task, since the class of a task in the config topic could be any.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from headrace.api.errors import ConfigError
from headrace.config.worker_config import SINGER_COMMANDS
from headrace.connectors.singer.commands import COMMAND, program_path, split_command
from headrace.plugins.discovery import comma_separated

ANY_PROGRAM: Final = "*"


@dataclass(frozen=True, slots=True)
class CommandAccess:
    """The patterns of ``singer.commands.allowed``; by default nothing is allowed."""

    allowed: tuple[str, ...] = ()

    def check(self, connector: str | None, config: Mapping[str, str | None]) -> None:
        """Raise ConfigError if the configuration has a command whose program may not be started here.

        Looks the program up on this machine. Arguments, which could be secret, are not shown.
        """
        text = config.get(COMMAND)
        if text is None or ANY_PROGRAM in self.allowed:
            return
        program = split_command(text)[0]
        if not self._allows(program):
            who = f"connector {connector}" if connector else "the connector"
            reason = f"{who} may not start this program: the worker's {SINGER_COMMANDS} does not have it"
            hint = "tap and target run what headrace singer install has installed"
            raise ConfigError.invalid(COMMAND, program, f"{reason}; {hint}")

    def _allows(self, program: str) -> bool:
        """Compare the path that is started; a name without a path as it is written, too."""
        path = program_path(program) or os.path.abspath(program)
        names = {path} if os.sep in program else {path, program}
        return any(_matches(name, pattern) for name in names for pattern in self.allowed)


def command_access(worker_properties: Mapping[str, str]) -> CommandAccess:
    """Return the rule of a worker's properties, for the worker and its tasks' processes."""
    return CommandAccess(comma_separated(worker_properties.get(SINGER_COMMANDS)))


def _matches(name: str, pattern: str) -> bool:
    """Return True if each part of the path matches: a `*` stands for no separator."""
    parts, patterns = name.split(os.sep), pattern.split(os.sep)
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))
