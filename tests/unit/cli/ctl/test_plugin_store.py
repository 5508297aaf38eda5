# SPDX-License-Identifier: Apache-2.0
"""`headrace plugins install`, `remove` and `ls --installed`, which need no worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from headrace.cli.main import app
from tests.unit.jars import shop_plugin


@pytest.fixture(autouse=True)
def own_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def shop(tmp_path: Path) -> str:
    shop_plugin(tmp_path / "made")
    return str(tmp_path / "made" / "shop")


def run(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["plugins", *words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_install_list_and_remove(shop: str, tmp_path: Path) -> None:
    into = tmp_path / "plugins"
    installed = run("install", shop, "--into", str(into))
    assert installed.stdout.splitlines()[1].split() == ["shop", "shop.ShopSourceConnector", "source", "1.2"]
    assert f"shop is in {into}/shop" in installed.stderr
    assert f"plugin.path={into}" in installed.stderr
    (listed,) = json.loads(run("ls", "--installed", "--in", str(into), "-o", "json").stdout)
    assert listed == {
        "name": "shop",
        "source": shop,
        "with": [],
        "directory": f"{into}/shop",
        "plugins": [{"class": "shop.ShopSourceConnector", "type": "source", "version": "1.2"}],
    }
    assert run("ls", "--installed", "--in", str(into), "-o", "name").stdout == "shop\n"
    run("remove", "shop", "--in", str(into), "--yes")
    assert run("ls", "--installed", "--in", str(into), "-o", "name").stdout == ""


def test_jars_that_were_changed_are_named(shop: str, tmp_path: Path) -> None:
    run("install", shop, "--into", str(tmp_path))
    (tmp_path / "shop" / "shop-1.2.jar").write_bytes(b"other")
    assert (
        "Warning: shop is not as it was installed: shop-1.2.jar"
        in run("ls", "--installed", "--in", str(tmp_path)).stderr
    )
    run("install", "--locked", "--into", str(tmp_path))
    assert "Warning" not in run("ls", "--installed", "--in", str(tmp_path)).stderr


def test_the_users_own_directory(shop: str, tmp_path: Path) -> None:
    run("install", shop)
    assert (tmp_path / "data" / "headrace" / "plugins" / "shop" / "shop-1.2.jar").is_file()
    assert run("ls", "--installed", "-o", "name").stdout == "shop\n"


def test_the_first_directory_of_a_worker_that_is_there(shop: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    worker = tmp_path / "worker.properties"
    worker.write_text(f"plugin.path={tmp_path}/missing, {tmp_path}/there\n")
    assert "plugin.path" not in run("install", shop, "--worker", str(worker)).stderr
    assert (tmp_path / "there" / "shop").is_dir()
    worker.write_text(f"plugin.path={tmp_path}/missing\n")
    refused = run("install", shop, "--worker", str(worker), code=2).stderr
    assert f"of plugin.path ({tmp_path}/missing) you can write to none" in refused
    worker.write_text("group.id=g\n")
    assert "it has no plugin.path" in run("install", shop, "--worker", str(worker), code=2).stderr


def test_mistakes(shop: str, tmp_path: Path) -> None:
    run("install", shop, "--into", str(tmp_path))
    for words, code, text in (
        (("install",), 2, "Give either what to install, or --locked"),
        (("install", shop, "--locked"), 2, "Give either what to install, or --locked"),
        (("install", shop, "--into", "a", "--worker", "b"), 2, "Give either a directory or --worker"),
        (("install", "--locked", "--into", str(tmp_path / "x")), 2, "plugins.lock is missing or lists no plugin"),
        (("install", "nothing.zip"), 2, "Cannot install 'nothing.zip'"),
        (("install", shop, "--with", "driver.jar"), 2, "Cannot install 'driver.jar' with"),
        (("install", "--locked", "--with", "a:b:1"), 2, "plugins.lock has what each plugin is installed with"),
        (("install", "singer:tap-x", "--with", "a:b:1"), 2, "not for taps and targets of Singer"),
        (("ls", "--in", str(tmp_path)), 2, "--in and --worker go with --installed"),
        (("remove", "shpo", "--in", str(tmp_path), "--yes"), 3, "Did you mean 'shop'?"),
    ):
        shown = run(*words, code=code)
        assert text in shown.stderr and "Traceback" not in shown.output, words


def test_remove_asks(shop: str, tmp_path: Path) -> None:
    run("install", shop, "--into", str(tmp_path))
    result = CliRunner().invoke(app, ["plugins", "remove", "shop", "--in", str(tmp_path)], input="n\n")
    assert result.exit_code == 1
    assert (tmp_path / "shop").is_dir()
