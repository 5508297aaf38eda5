# SPDX-License-Identifier: Apache-2.0
"""What the providers that come with headrace hand out, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.api.errors import ConfigError
from headrace.plugins.config_providers.directory_config_provider import DirectoryConfigProvider
from headrace.plugins.config_providers.env_var_config_provider import EnvVarConfigProvider
from headrace.plugins.config_providers.file_config_provider import FileConfigProvider

ENVIRONMENT = {"DB_USER": "alice", "DB_PASSWORD": "s3cret", "HOME": "/root"}


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """A directory that may be read, beside one that may not."""
    directory = tmp_path / "secrets"
    (directory / "..2026").mkdir(parents=True)
    (directory / "db.properties").write_text("user = alice\npassword: p\\u00e4ss\\\n  word\nempty=\n")
    (directory / "..2026" / "token").write_text("abc\n")
    (directory / "token").symlink_to("..2026/token")  # as Kubernetes does it
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "key.properties").write_text("key=hidden\n")
    (directory / "way-out").symlink_to(tmp_path / "other" / "key.properties")
    (tmp_path / "secrets-of-others").mkdir()
    return directory


def configured(provider: ConfigProvider, **params: str) -> ConfigProvider:
    provider.configure({key.replace("_", "."): value for key, value in params.items()})
    return provider


def test_file(secrets: Path) -> None:
    provider = configured(FileConfigProvider(), allowed_paths=str(secrets))
    path = str(secrets / "db.properties")
    assert provider.get(path).data == {"user": "alice", "password": "pässword", "empty": ""}
    assert provider.get(path, {"user", "nothing"}) == ConfigData({"user": "alice"})
    assert provider.get("", {"user"}) == ConfigData({})
    one = configured(FileConfigProvider(), allowed_paths=f"/usr,{path}", ttl_ms="500")
    assert one.get(path, ["user"]) == ConfigData({"user": "alice"}, 500)


def test_directory(secrets: Path) -> None:
    provider = configured(DirectoryConfigProvider(), allowed_paths=str(secrets), ttl_ms="7")
    assert provider.get(str(secrets), ["token", "absent", "..2026", "../other/key.properties"]).data == {
        "token": "abc\n"
    }
    assert provider.get("") == ConfigData({})
    with pytest.raises(ConfigError, match="way-out may not be read"):
        provider.get(str(secrets))
    (secrets / "way-out").unlink()
    assert provider.get(str(secrets)) == ConfigData({"token": "abc\n", "db.properties": _text(secrets)}, 7)


def _text(secrets: Path) -> str:
    return (secrets / "db.properties").read_text()


@pytest.mark.parametrize("provider", [FileConfigProvider, DirectoryConfigProvider])
@pytest.mark.parametrize(
    "path",
    ["{}/../other/key.properties", "{}/../other", "{}/way-out", "{}-of-others", "/etc/passwd", "etc", "{}/../nothing"],
)
def test_what_is_not_allowed_is_not_read(secrets: Path, provider: type[ConfigProvider], path: str) -> None:
    with pytest.raises(ConfigError, match=r"may not be read, for it is not in the provider's allowed\.paths") as error:
        configured(provider(), allowed_paths=str(secrets)).get(path.format(secrets), ["key"])
    assert error.value.name == "allowed.paths"
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize("params", [{}, {"allowed_paths": ""}])
def test_everything_is_read_by_default(secrets: Path, params: dict[str, str]) -> None:
    other = secrets.parent / "other"
    file = configured(FileConfigProvider(), **params)
    assert file.get(f"{secrets}/../other/key.properties", ["key"]) == ConfigData({"key": "hidden"})
    directory = configured(DirectoryConfigProvider(), **params)
    assert directory.get(str(other)) == ConfigData({"key.properties": "key=hidden\n"})


def test_what_would_limit_a_provider(secrets: Path) -> None:
    for provider in (FileConfigProvider(), DirectoryConfigProvider()):
        assert configured(provider).missing_limit() == "allowed.paths"  # type: ignore[attr-defined]
        assert configured(provider, allowed_paths=str(secrets)).missing_limit() is None  # type: ignore[attr-defined]
    environment = EnvVarConfigProvider(ENVIRONMENT)
    environment.configure({})
    assert environment.missing_limit() == "allowlist.pattern"
    environment.configure({"allowlist.pattern": "DB_.*"})
    assert environment.missing_limit() is None


@pytest.mark.parametrize("path", ["relative", "/no/such/directory"])
def test_allowed_paths_have_to_be_absolute_and_exist(path: str) -> None:
    with pytest.raises(ConfigError, match=r"configuration allowed\.paths: the path has to be absolute and to exist"):
        configured(FileConfigProvider(), allowed_paths=path)


def test_what_is_not_there_is_reported(secrets: Path) -> None:
    file = configured(FileConfigProvider(), allowed_paths=str(secrets))
    with pytest.raises(ConfigError, match=r"nothing\.properties cannot be read: No such file"):
        file.get(f"{secrets}/nothing.properties", ["key"])
    directory = configured(DirectoryConfigProvider(), allowed_paths=str(secrets))
    with pytest.raises(ConfigError, match=r"db\.properties is not a directory"):
        directory.get(f"{secrets}/db.properties", ["key"])
    (secrets / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="binary cannot be read: it is not UTF-8"):
        directory.get(str(secrets), ["binary"])


def test_environment() -> None:
    provider = EnvVarConfigProvider(ENVIRONMENT)
    provider.configure({"allowlist.pattern": "DB_.*"})
    assert provider.get("").data == {"DB_USER": "alice", "DB_PASSWORD": "s3cret"}
    assert provider.get("", ["DB_USER", "DB_NOTHING"]) == ConfigData({"DB_USER": "alice"})
    with pytest.raises(
        ConfigError, match=r"HOME may not be read, for the provider's allowlist\.pattern does not match"
    ):
        provider.get("", ["DB_USER", "HOME"])
    with pytest.raises(ConfigError, match="variables have no path, so '/etc' cannot be meant"):
        provider.get("/etc", ["DB_USER"])


def test_every_variable_is_read_by_default() -> None:
    provider = EnvVarConfigProvider(ENVIRONMENT)
    provider.configure({})
    assert provider.get("").data == ENVIRONMENT
    assert provider.get("", ["HOME"]) == ConfigData({"HOME": "/root"})


@pytest.mark.parametrize("pattern", ["", "DB", "^DB_", "USER"])
def test_a_pattern_is_for_all_of_a_name(pattern: str) -> None:
    """As Java's: what names one variable allows no longer ones."""
    provider = EnvVarConfigProvider(ENVIRONMENT)
    provider.configure({"allowlist.pattern": pattern})
    assert provider.get("").data == {}
    with pytest.raises(ConfigError, match=r"allowlist\.pattern does not match"):
        provider.get("", ["DB_USER"])


def test_a_bad_pattern() -> None:
    with pytest.raises(ConfigError, match=r"allowlist\.pattern: not a regular expression"):
        EnvVarConfigProvider(ENVIRONMENT).configure({"allowlist.pattern": "("})


def test_values_do_not_show_themselves() -> None:
    assert "s3cret" not in repr(ConfigData({"password": "s3cret"}))
