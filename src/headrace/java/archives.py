# SPDX-License-Identifier: Apache-2.0
"""Plugins as their vendors publish them: ``.zip`` and ``.tar.gz`` files, directories, and URLs of such files."""

from __future__ import annotations

import re
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from headrace.api.errors import ConfigError, RetriableError

_ZIPS: Final = (".zip",)
_TARS: Final = (".tar.gz", ".tgz", ".tar")
_JARS: Final = (".jar",)
_ENDINGS: Final = (*_ZIPS, *_TARS, *_JARS)
_VERSION: Final = re.compile(r"(?<=.)[-_]v?\d+(?:\.\w+)+(?:[-.][\w.]+)*$")
_TIMEOUT_S: Final = 60.0
_BROKEN: Final = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError)


def unpack(source: str, temporary: Path, progress: Callable[[str], None]) -> tuple[Path, str]:
    """Make a directory of the plugin in ``temporary``; return it, and the plugin's name without a version.

    Raises:
        ConfigError: it is missing, of no known form, broken, or has paths that lead out of it.
        RetriableError: it cannot be downloaded.
    """
    file = _download(source, temporary, progress) if "://" in source else Path(source).expanduser()
    target = temporary / "unpacked"
    if file.is_dir():
        shutil.copytree(file, target)
        return target, _plain(file.absolute().name)
    ending = next((each for each in _ENDINGS if file.name.lower().endswith(each)), None)
    if ending is None or not file.is_file():
        what = f"group:name:version, a directory, or a file that ends with {', '.join(_ENDINGS)}"
        raise ConfigError(f"Cannot install '{source}': it is none of {what}")
    target.mkdir()
    try:
        _extract(file, ending, target)
    except _BROKEN as error:
        raise ConfigError(f"Cannot install '{source}': {error}") from error
    made = _only_directory(target)
    return made, _plain(file.name[: -len(ending)] if made == target else made.name)


def _extract(file: Path, ending: str, target: Path) -> None:
    if ending in _JARS:
        shutil.copyfile(file, target / file.name)
    elif ending in _ZIPS:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                _check(entry.filename)
            archive.extractall(target)
    else:
        with tarfile.open(file) as archive:
            archive.extractall(target, filter="data")  # refuses paths and links that lead out of it


def _check(name: str) -> None:
    """Raise ValueError for a name that leads out of the directory; zip files have no links, once they are extracted."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", name):
        raise ValueError(f"its entry '{name}' leads out of the directory")


def _only_directory(directory: Path) -> Path:
    """Return the one directory that all is in, as in most archives; else the directory itself."""
    entries = list(directory.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else directory


def _plain(name: str) -> str:
    """Return a name without the version at its end, so that another version takes the plugin's place."""
    return _VERSION.sub("", name.removesuffix("-plugin")).lstrip(".") or name


def _download(url: str, temporary: Path, progress: Callable[[str], None]) -> Path:
    _check_https(url)
    name = PurePosixPath(urllib.parse.unquote(urllib.parse.urlsplit(url).path)).name or "plugin"
    file = temporary / name
    progress(name)
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            _check_https(answer.url)  # it may have been redirected
            with file.open("wb") as out:
                shutil.copyfileobj(answer, out)
    except urllib.error.HTTPError as error:
        raise ConfigError(f"Cannot download {url}: {error.code} {error.reason}") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise RetriableError(f"Cannot download {url}: {getattr(error, 'reason', error)}") from error
    return file


def _check_https(url: str) -> None:
    if urllib.parse.urlsplit(url).scheme != "https":
        raise ConfigError(f"Cannot install '{url}': only https is safe; download it yourself and check its digest")
