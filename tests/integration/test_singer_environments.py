# SPDX-License-Identifier: Apache-2.0
"""Environments of taps and targets, made from packages of the test's own, without an index."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from headrace.api.errors import ConfigError
from headrace.cli.main import app
from headrace.connectors.singer.commands import installed_executable
from headrace.plugins.singer_environments import install, installed, remove

UV = """#!/bin/sh
echo "$@" >> {calls}
if [ "$1" = venv ]; then exec {python} -m venv "$5"; fi
what=$2 python=$4
shift 4
exec "$python" -m pip --disable-pip-version-check "$what" "$@"
"""


@pytest.fixture(autouse=True)
def pip_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither uv nor an index: what is installed is what lies there."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def wheel(directory: Path, name: str, version: str, *programs: str, needs: str = "") -> str:
    """The path of a package with these executables, which do nothing; ``needs`` is another one."""
    module, information = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    path = directory / f"{module}-{version}-py3-none-any.whl"
    scripts = "".join(f"{each} = {module}:main\n" for each in programs)
    files = {
        f"{module}.py": "def main(): pass\n",
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/entry_points.txt": f"[console_scripts]\n{scripts}",
        f"{information}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in files.items():
            archive.writestr(each, text)
    return str(path)


def test_the_life_of_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DATA_DIR", str(tmp_path))
    assert installed() == []
    made = install(wheel(tmp_path, "acme-tap-shop", "1.0", "tap-shop"), "tap-shop")
    assert (made.name, made.executables) == ("tap-shop", ("tap-shop",))
    assert "acme-tap-shop @ file://" in made.lock
    assert os.access(installed_executable("tap-shop", "tap"), os.X_OK)
    install(wheel(tmp_path, "acme-tap-shop", "1.1", "tap-shop"), "tap-shop")
    assert len(list((tmp_path / "singer" / "tap-shop").glob("venv-*"))) == 1
    assert [each.name for each in installed()] == ["tap-shop"]
    assert "1.1" in installed()[0].lock
    with pytest.raises(ConfigError, match=r"cannot be installed: ERROR: .*no-such-tap"):
        install("no-such-tap", "tap-shop")
    assert "1.1" in installed()[0].lock  # the former one stays
    remove("tap-shop")
    assert installed() == []
    with pytest.raises(ConfigError, match="There is no installed tap or target 'tap-shop'"):
        remove("tap-shop")


def test_among_the_plugins_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "plugins"))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for version in ("1.0", "1.1"):
        wheel(tmp_path, "tap-shop", version, "tap-shop")
    wheel(tmp_path, "acme-target", "2.0", "target-acme")

    def run(*words: str, code: int = 0) -> Result:
        result = CliRunner().invoke(app, ["plugins", *words], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result

    row = ["singer:tap-shop", "SingerSource", "source", "1.0"]
    assert run("install", "singer:tap-shop==1.0").stdout.splitlines()[1].split() == row
    run("install", "singer:acme-target", "--name", "target-acme")
    assert run("ls", "--installed", "-o", "name").stdout.splitlines() == ["singer:tap-shop", "singer:target-acme"]
    described = json.loads(run("ls", "--installed", "-o", "json").stdout)
    assert [each["source"] for each in described] == ["singer:tap-shop==1.0", "singer:acme-target"]
    assert [each["plugins"][0]["class"] for each in described] == ["SingerSource", "SingerSink"]
    assert [each.name for each in installed()] == ["tap-shop", "target-acme"]  # those of headrace singer
    assert "not for taps" in run("install", "singer:tap-shop", "--into", str(tmp_path), code=2).stderr
    assert "--name is for taps" in run("install", "shop.zip", "--name", "shop", code=2).stderr
    missing = run("remove", "singer:tap-shoo", code=3).stderr
    assert "No tap or target singer:tap-shoo is installed" in missing
    assert "singer:tap-shop" in missing
    run("remove", "singer:tap-shop", "--yes")
    assert [each.name for each in installed()] == ["target-acme"]


def test_the_lock_of_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel(tmp_path, "tap-shop", "1.0", "tap-shop", needs="acme-client")
    wheel(tmp_path, "acme-client", "3.0")
    first = install("tap-shop", None, tmp_path / "one")
    lock = tmp_path / "one" / "tap-shop" / "current" / "requirements.lock"
    wheel(tmp_path, "acme-client", "3.1")
    assert first.lock.splitlines() == ["acme-client==3.0", "tap-shop==1.0"]
    assert install("tap-shop", None, tmp_path / "two").lock.splitlines() == ["acme-client==3.1", "tap-shop==1.0"]
    monkeypatch.setenv("HEADRACE_DATA_DIR", str(tmp_path / "three"))
    done = CliRunner().invoke(app, ["singer", "install", "tap-shop", "--lock", str(lock)])
    assert (done.exit_code, installed()[0].lock) == (0, first.lock), done.output
    with pytest.raises(ConfigError, match=r"There is no file .*no\.lock"):
        install("tap-shop", None, tmp_path / "four", tmp_path / "no.lock")


def test_uv_is_used_where_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of uv notes its arguments, and does what uv does by venv and pip."""
    calls, uv = tmp_path / "calls", tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(UV.format(python=sys.executable, calls=calls))
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:/usr/bin:/bin")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel(tmp_path, "tap-shop", "1.0", "tap-shop")
    made = install("tap-shop==1.0", None, tmp_path / "singer")
    assert (made.executables, made.lock) == (("tap-shop",), "tap-shop==1.0")
    assert [line.split()[:2] for line in calls.read_text().splitlines()] == [
        ["venv", "--allow-existing"],
        ["pip", "install"],
        ["pip", "freeze"],
    ]


def test_a_package_that_is_no_tap(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"it is no tap or target"):
        install(wheel(tmp_path, "acme", "1.0", "acme-tool"), "shop", tmp_path / "singer")
    assert list((tmp_path / "singer").iterdir()) == []


@pytest.mark.parametrize(
    ("request_", "name"), [("git+https://x/y.git", None), ("--upgrade", "a"), ("a", "../b"), ("a", ".."), ("", None)]
)
def test_names_that_are_none(request_: str, name: str | None, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--name"):
        install(request_, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_executables_that_are_not_found_or_ambiguous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DATA_DIR", str(tmp_path))
    programs = tmp_path / "singer" / "x" / "current" / "bin"
    programs.mkdir(parents=True)
    with pytest.raises(ConfigError, match="install it on each worker's machine: headrace singer install x"):
        installed_executable("x", "tap")
    (programs / "tap-a").touch()
    assert installed_executable("x", "tap") == str(programs / "tap-a")
    (programs / "tap-b").touch()
    with pytest.raises(ConfigError, match=r"several executables, tap-a, tap-b: headrace singer install PACKAGE --name"):
        installed_executable("x", "tap")
    for name in ("../x", ".x", "", "..", "x/current/bin/..", str(programs), "-x", "x\n"):
        with pytest.raises(ConfigError, match="no name of an installed tap"):
            installed_executable(name, "tap")
