# SPDX-License-Identifier: Apache-2.0
"""Write the console's libraries: `python -m scripts.vendor_console` fetches them from npm into `static/vendor`.

Browsers resolve no bare names such as "preact", so imports become relative. ``vendor.json`` says what each file is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.npm_packages import NpmPackage, unpacked

ROOT: Final = Path(__file__).parents[1]
VENDOR: Final = ROOT / "src" / "headrace" / "console" / "static" / "vendor"

_PREACT: Final = NpmPackage(
    "preact",
    "11.2.0",
    "MIT",
    "fc77c723fecdf387ba1ab581277276f34cf798b6912620dc4af8ff03ecbfe006"
    "cb9cd0ffd549461ded6c47aa18b931b021dd273fb76a0d4f4e9cbc4c3d9ef106",
)
_HTM: Final = NpmPackage(
    "htm",
    "3.1.1",
    "Apache-2.0",
    "f7cdd5ca0f0dc1413b26467a3663aaa4267eb21d5b2afda2613954933956980e"
    "490f669c2a8c5de0a5716cc9b15fff399ad7dd9c399316834a720e43180bf135",
)
_SIGNALS: Final = NpmPackage(
    "@preact/signals",
    "2.11.4",
    "MIT",
    "45bfb944fa3d81649a1edcc979aba11f1882f0a3ff205d8310f9073c43863a7b"
    "b2db09c9cd1ab278b45a9e450261de800eab714ba1a7586bfa21edf8dddf1a63",
)
_SIGNALS_CORE: Final = NpmPackage(
    "@preact/signals-core",
    "1.14.5",
    "MIT",
    "bdc46fec8b72cf925599e895a8896e2c5cd3fcf0d2fc09611d4a70dff6945aa7"
    "1552ce9b0c620f5c4ffa4520b87af04d598be79e2a338394b27e3df76a5de092",
)
_UPLOT: Final = NpmPackage(
    "uplot",
    "1.6.32",
    "MIT",
    "2883159c6ebccefbb95d751b0b82d010f9e1c0ec41b8bc96d401eda66e882935"
    "c89a46cb824332fa369b8cb8122cc6ac36e186cd09bf7a9ded3a4c93c6989023",
)


@dataclass(frozen=True, slots=True)
class VendoredFile:
    """``end``: a line that makes a module of a script."""

    name: str
    package: NpmPackage
    path: str
    end: str = ""


FILES: Final = (
    VendoredFile("preact.js", _PREACT, "dist/preact.mjs"),
    VendoredFile("preact-hooks.js", _PREACT, "hooks/dist/hooks.mjs"),
    VendoredFile("htm.js", _HTM, "dist/htm.mjs"),
    VendoredFile("signals-core.js", _SIGNALS_CORE, "dist/signals-core.mjs"),
    VendoredFile("signals.js", _SIGNALS, "dist/signals.mjs"),
    VendoredFile("uplot.js", _UPLOT, "dist/uPlot.iife.min.js", "export default uPlot;\n"),
    VendoredFile("uplot.css", _UPLOT, "dist/uPlot.min.css"),
)
_NAMES: Final = {
    '"preact/hooks"': '"./preact-hooks.js"',
    '"preact"': '"./preact.js"',
    '"@preact/signals-core"': '"./signals-core.js"',
}
_SOURCE_MAP: Final = "//# sourceMappingURL="


def vendored_text(file: VendoredFile, source: str) -> str:
    """Return what is served: a banner, relative imports, no source map."""
    text = source.partition(_SOURCE_MAP)[0].rstrip("\n")
    for bare, relative in _NAMES.items():
        text = text.replace(bare, relative)
    banner = f"/*! {file.package.spec} {file.path}, {file.package.licence} */"
    return f"{banner}\n{text}\n{file.end}"


def main() -> None:
    entries = []
    for file in FILES:
        directory = unpacked(file.package)
        text = vendored_text(file, (directory / file.path).read_text())
        (VENDOR / file.name).write_text(text)
        licence = f"{file.package.name.replace('@', '').replace('/', '-')}.LICENSE.txt"
        (VENDOR / licence).write_text((directory / "LICENSE").read_text())
        entries.append(
            {
                "file": file.name,
                "name": file.package.name,
                "version": file.package.version,
                "licence": file.package.licence,
                "licence_file": licence,
                "source": f"npm:{file.package.spec}/{file.path}",
                "tarball_sha512": file.package.sha512,
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
        )
    (VENDOR / "vendor.json").write_text(json.dumps(entries, indent=2) + "\n")


if __name__ == "__main__":
    main()
