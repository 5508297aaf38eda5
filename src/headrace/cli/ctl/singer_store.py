# SPDX-License-Identifier: Apache-2.0
"""Taps and targets of Singer among the plugins of this machine, as ``singer:PACKAGE``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from headrace.cli.ctl.command import ask
from headrace.cli.ctl.ctl_error import CtlError, ExitCode, near_name

if TYPE_CHECKING:
    from headrace.plugins.singer_environments import SingerEnvironment

PREFIX: Final = "singer:"
_SOURCE: Final = ("SingerSource", "source")
_SINK: Final = ("SingerSink", "sink")


def install_singer(source: str, name: str | None) -> dict[str, Any]:
    """Install a tap or target and return it as `listed_singer` has it. ConfigError, ConnectError."""
    from headrace.plugins.singer_environments import install

    return _listed(install(source.removeprefix(PREFIX), name))


def listed_singer() -> list[dict[str, Any]]:
    """Return the taps and targets that are installed, each with the connector that runs it."""
    from headrace.plugins.singer_environments import installed

    return [_listed(each) for each in installed()]


def remove_singer(plugin: str, yes: bool) -> None:
    """Remove a tap or target, after a question unless ``yes``. CtlError if there is none."""
    from headrace.plugins.singer_environments import remove

    known = [each["name"] for each in listed_singer()]
    if plugin not in known:
        raise CtlError(f"No tap or target {plugin} is installed", ExitCode.NOT_FOUND, near_name(plugin, known))
    if not yes:
        ask(f"Remove {plugin} from this machine?")
    remove(plugin.removeprefix(PREFIX))


def _listed(environment: SingerEnvironment) -> dict[str, Any]:
    from headrace.connectors.singer.commands import environments_directory

    is_target = any(each.startswith("target") for each in (environment.name, *environment.executables))
    class_name, kind = _SINK if is_target else _SOURCE
    return {
        "name": f"{PREFIX}{environment.name}",
        "source": f"{PREFIX}{environment.request}",
        "directory": str(environments_directory() / environment.name),
        "plugins": [{"class": class_name, "type": kind, "version": environment.version}],
    }
