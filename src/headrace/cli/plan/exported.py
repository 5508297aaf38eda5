# SPDX-License-Identifier: Apache-2.0
"""A cluster's connectors as texts of files, which plan to no changes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from headrace.cli.ctl.statuses import Goal
from headrace.cli.plan.cluster_state import Current
from headrace.cli.plan.desired_connectors import escape, variable_name
from headrace.cli.plan.differences import HIDDEN
from headrace.config.connector_config import NAME
from headrace.config.secret_properties import is_secret_name

_URL: Final = re.compile(r"ur[il]$", re.IGNORECASE)


class Format(str, Enum):
    """The forms of exported files, and their suffixes."""

    YAML = "yaml"
    JSON = "json"
    PROPERTIES = "properties"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Exported:
    """A connector for a file. ``hidden`` has the variables in the place of masked secrets, by property."""

    name: str
    config: dict[str, str | None]
    state: Goal
    hidden: dict[str, str]

    @property
    def document(self) -> dict[str, Any]:
        return {NAME: escape(self.name), "state": self.state.value, "config": self.config}


def exported(current: Current, is_password: Callable[[str], bool]) -> Exported:
    """Return a connector for a file, with a variable in the place of each secret that the cluster has masked."""
    config, hidden = {}, {}
    for key, text in sorted(current.config.items()):
        if key == NAME:
            continue
        config[key] = None if text is None else escape(text)
        if text is not None and _is_masked(key, text, is_password):
            hidden[key] = variable_name(current.name, key)
            config[key] = escape(text).replace(HIDDEN, f"$({hidden[key]})")
    return Exported(current.name, config, current.state, hidden)


def text_of(connectors: Sequence[Exported], form: Format) -> str:
    """Return the content of a file. One of properties is for one connector, and cannot have its state."""
    if form is Format.JSON:
        found = [each.document for each in connectors]
        return json.dumps(found[0] if len(found) == 1 else found, indent=2, ensure_ascii=False) + "\n"
    if form is Format.PROPERTIES:
        return "".join(map(_properties, connectors))
    import yaml

    documents = [each.document for each in connectors]
    dumped: str = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=_UNLIMITED)
    return dumped


_UNLIMITED: Final = 100_000


def _properties(connector: Exported) -> str:
    from javaproperties import dumps

    pairs = {NAME: escape(connector.name)} | {key: text for key, text in connector.config.items() if text is not None}
    written: str = dumps(pairs, timestamp=None, ensure_ascii=False)
    return written


def _is_masked(key: str, text: str, is_password: Callable[[str], bool]) -> bool:
    """Return True unless the text is a value of its own, such as a replacement in records."""
    if HIDDEN not in text:
        return False
    return text.strip() != HIDDEN or is_secret_name(key) or bool(_URL.search(key)) or is_password(key)
