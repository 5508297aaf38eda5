# SPDX-License-Identifier: Apache-2.0
"""Write what the runtime lock holds: as CycloneDX JSON (the default), or with --table as docs/licences.md.

Licences are those that the installed packages declare.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_LOCK: Final = Path(__file__).parents[1] / "requirements.lock"
_OSI: Final = "License :: OSI Approved :: "
_LONGEST: Final = 60
_TABLE: Final = """# Licences of what headrace depends on

Python packages of `requirements.lock`, that is of `pip install 'headrace[auth]'`, with the licences that they declare;
written by `scripts/sbom.py --table`. Beside them there are, only downloaded when they are used: Apache Kafka's broker
(`headrace broker`, Apache-2.0, its jars are listed in `src/headrace/broker/pins`), and a Java runtime by the extra
`jvm` (GPL-2.0 with the classpath exception).

"""
_HEAD: Final = "| package | version | licence |\n|---|---|---|\n"
_MORE: Final = """

Beside these, with the extras `lineage` and `otel`, as locked for development:

"""
_EXTRAS: Final = ("lineage", "otel")
_VENDORED: Final = """

In the package itself, for the [console](guide/console.md); only the names of imports and exports are changed. Licences
and checksums are beside them in `src/headrace/console/static/vendor`.

| package of npm | version | licence |
|---|---|---|
"""
_VENDOR: Final = Path(__file__).parents[1] / "src" / "headrace" / "console" / "static" / "vendor" / "vendor.json"


def main(arguments: list[str]) -> int:
    packages = [(name, version, licence(name)) for name, version in locked()]
    if arguments == ["--table"]:
        more = sorted(set(_required("headrace", _EXTRAS)) - {name for name, _, _ in packages})
        extras = [(name, version(name), licence(name)) for name in more]
        print(_TABLE + _rows(packages) + _MORE + _rows(extras) + _VENDORED + _lines(vendored()))
    else:
        print(json.dumps(_bill(packages), indent=1))
    return 0


def _rows(packages: list[tuple[str, str, str]]) -> str:
    return _HEAD + _lines(packages)


def _lines(packages: list[tuple[str, str, str]]) -> str:
    return "\n".join(f"| {name} | {version} | {found} |" for name, version, found in packages)


def vendored() -> list[tuple[str, str, str]]:
    """Names, versions and licences of the console's libraries."""
    entries = json.loads(_VENDOR.read_text())
    return sorted({(entry["name"], entry["version"], entry["licence"]) for entry in entries})


def _required(package: str, extras: tuple[str, ...] = ()) -> Iterator[str]:
    """Names of the installed packages that an installed one requires for some extras, and theirs."""
    environments = [{"extra": extra} for extra in extras or ("",)]
    for text in distribution(package).requires or ():
        wanted = Requirement(text)
        if wanted.marker is not None and not any(map(wanted.marker.evaluate, environments)):
            continue
        name = canonicalize_name(wanted.name)
        yield name
        yield from _required(name)


def locked() -> list[tuple[str, str]]:
    """Names and versions of the runtime lock."""
    return re.findall(r"(?m)^([\w.-]+)==(\S+)", _LOCK.read_text())


def licence(name: str) -> str:
    """As the installed package declares it; "not installed" where it is not."""
    try:
        return _declared(distribution(name))
    except PackageNotFoundError:
        return "not installed"


def _declared(package: Distribution) -> str:
    fields = package.metadata
    if expression := fields.get("License-Expression"):
        return str(expression)
    classified = [text.removeprefix(_OSI) for text in fields.get_all("Classifier", []) if text.startswith(_OSI)]
    text = " ".join(str(fields.get("License", "")).split())
    return "; ".join(classified) or (text if 0 < len(text) <= _LONGEST else "see its licence file")


def _bill(packages: list[tuple[str, str, str]]) -> dict[str, Any]:
    components = [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}",
         "licenses": [{"license": {"name": found}}]}
        for name, version, found in packages
    ]  # fmt: skip
    components += [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
         "licenses": [{"license": {"id": found}}]}
        for name, version, found in vendored()
    ]  # fmt: skip
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
