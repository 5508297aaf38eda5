# SPDX-License-Identifier: Apache-2.0
"""Commands of taps and targets: installed ones by their names, and the properties that both connectors have."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from headrace.api.config_def import ConfigDef, ConfigKey, ConfigValue, Importance, Password, Type
from headrace.api.errors import ConfigError, DataError
from headrace.api.validators import NonEmptyString, Nullable, Range
from headrace.connectors.singer.messages import parse_state

COMMAND: Final = "singer.command"
CONFIG: Final = "singer.config"
LINE_BYTES: Final = "singer.line.bytes"
TAP: Final = "tap"
TARGET: Final = "target"
CURRENT: Final = "current"
"""The link in an environment's directory to the virtual environment in use."""
_LEAST_LINE: Final = 1 << 20
_LARGEST_FILE: Final = 1 << 26
ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of installed taps and targets: none is a path."""

_SHARED: Final = (
    ConfigDef()
    .define(COMMAND, Type.STRING, None, importance=Importance.HIGH, validator=NonEmptyString())
    .define(
        CONFIG,
        Type.PASSWORD,
        "{}",
        importance=Importance.HIGH,
        doc="Its configuration: JSON text, or the path of a file on the machine of the task. References to config "
        "providers in the text are resolved.",
    )
    .define(
        LINE_BYTES,
        Type.INT,
        str(16 << 20),
        importance=Importance.LOW,
        validator=Nullable(Range.at_least(_LEAST_LINE)),
        doc="The longest line of its output; a longer one is an error.",
    )
)


def shared(name: str, doc: str = "") -> ConfigKey:
    """Return the definition of a property of both connectors, with the ``doc`` of one of them."""
    key = _SHARED.config_keys[name]
    return replace(key, doc=doc or key.doc)


def environments_directory() -> Path:
    """Return `HEADRACE_DATA_DIR`, else the platform's place for users' data, with the directory `singer` in it."""
    if own := os.environ.get("HEADRACE_DATA_DIR"):
        return Path(own).expanduser().absolute() / "singer"
    # Executors of a cluster need it for this only.
    from platformdirs import user_data_path

    return user_data_path("headrace") / "singer"


def installed_executable(name: str, kind: str) -> str:
    """Return the path of the executable of the installed tap or target. Raise ConfigError if there is none.

    ``kind`` is `tap` or `target`: the property's name, and what an executable of another name begins with.
    """
    if not ENVIRONMENT_NAME.fullmatch(name):
        raise ConfigError.invalid(kind, name, f"it is no name of an installed {kind}: headrace singer ls")
    programs = environments_directory() / name / CURRENT / "bin"
    own = programs / name
    others = sorted(programs.glob(f"{kind}-*"))
    found = [own] if own.is_file() else others
    if len(found) == 1:
        return str(found[0])
    reason = f"install it on each worker's machine: headrace singer install {name}"
    if found:
        names = ", ".join(each.name for each in found)
        reason = f"it has several executables, {names}: headrace singer install PACKAGE --name NAME, with one of these"
    raise ConfigError.invalid(kind, name, reason)


def command_of(values: Mapping[str, Any], kind: str) -> list[str]:
    """Return the command line of the parsed properties.

    Raise ConfigError if there is none, two, or one whose program is not on this machine.
    """
    name, text = values[kind], values[COMMAND]
    check_one_command(values, kind)
    if name is not None:
        return [installed_executable(name, kind)]
    command = split_command(text)
    program = program_path(command[0])
    if program is None:
        raise ConfigError.invalid(COMMAND, text, f"there is no executable {command[0]} on this machine")
    return [program, *command[1:]]


def program_path(program: str) -> str | None:
    """Return the absolute path, without `..`, of the executable that a command's first word starts on this machine."""
    found = shutil.which(program)
    return None if found is None else os.path.abspath(found)


def split_command(text: str) -> list[str]:
    """Return the words of a command line: the program and its arguments. Raise ConfigError if there are none."""
    try:
        command = shlex.split(text.strip())
    except ValueError as error:
        raise ConfigError.invalid(COMMAND, text, f"it is no command line: {error}") from error
    if not command:
        raise ConfigError.invalid(COMMAND, text, "it names no program")
    return command


def name_of(values: Mapping[str, Any], kind: str) -> str:
    """Return the name of the tap or target, which source offsets have: the installed one's, or the program's."""
    if values[kind] is not None:
        return str(values[kind])
    command = split_command(values[COMMAND]) if values[COMMAND] else [kind]
    return Path(command[0]).name


def config_text(config: Password | None) -> str:
    """Return the JSON text of the tap's or target's configuration, from the text itself or from a file.

    Raise ConfigError, which does not show the text, if it is no JSON object or if the file cannot be read.
    """
    text = "{}" if config is None or not config.value else config.value
    place = "it"
    if not text.startswith("{"):
        place = f"the file {text}"
        try:
            text = read_file(text).decode()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
            raise ConfigError(f"{CONFIG} is neither JSON text nor a file that can be read: {reason}", CONFIG) from error
    try:
        parse_state(text)
    except DataError:
        # Neither the text nor the parser's message, which both may show a secret.
        raise ConfigError(f"{place} of {CONFIG} is no JSON object", CONFIG) from None
    return text


def read_file(path: str) -> bytes:
    """Return the content of a regular file. Raise OSError for anything else, which could block, or never end."""
    try:
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            content = file.read(_LARGEST_FILE + 1)
    except ValueError as error:
        raise OSError(errno.EINVAL, "it is no path") from error
    if len(content) > _LARGEST_FILE:
        raise OSError(errno.EFBIG, f"it is larger than {_LARGEST_FILE} bytes")
    return content


def add_error(values: list[ConfigValue], error: ConfigError) -> None:
    """Add the error of a check of several properties to its property's."""
    named = next((value for value in values if value.name == error.name), values[0])
    if not named.error_messages:
        named.add_error_message(str(error))


def check_one_command(values: Mapping[str, Any], kind: str) -> None:
    """Raise ConfigError unless the parsed properties have exactly one of command line and name."""
    name, text = values[kind], values[COMMAND]
    if name is not None and text is not None:
        raise ConfigError.invalid(kind, name, f"{COMMAND} is set, too: remove one of the two")
    if name is None and text is None:
        raise ConfigError.invalid(COMMAND, None, f"set it to the command line of a {kind}, or set {kind} to its name")
    if text is not None:
        split_command(text)
