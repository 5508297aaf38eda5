# SPDX-License-Identifier: Apache-2.0
"""The names by which properties and options count as secrets, and references, which never do. Pure."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = (
    r"pass(?:word|wd|phrase|code)|(?<![a-z])pass(?![a-z])|pwd|secret|token|credential|jaas|keytab|user\.info"
    r"|authori[sz]ation|basic\.auth|\bauth$|\bsas\b|(?<![a-z])sig(?![a-z])|certificate\.chain|connection[._-]?string"
    r"|(?:access|account|api|encryption|keystore|private|sas|secret|shared|ssl|storage)[._-]?key(?!store|space|word)"
)
_SECRET: Final = re.compile(_NAMES, re.IGNORECASE)
SPARK_REDACTION: Final = f"(?i){_NAMES}"
"""The default of `spark.redaction.regex`: Spark's UI and event log hide settings and options that it matches."""
REFERENCE: Final = re.compile(r"\$\{[^{}]*\}")
"""A reference to a config provider, known or not."""


def is_secret_name(name: str) -> bool:
    """Return True if a property or option with this name has a secret for its value."""
    return _SECRET.search(name) is not None


def is_reference(text: str) -> bool:
    """Return True if a value is made of references only: it shows where a secret is, and is none."""
    return text != "" and not REFERENCE.sub("", text)
