# SPDX-License-Identifier: Apache-2.0
"""References in configurations become values, and values become references again wherever they would be seen."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.api.config_def import ConfigValue
from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.api.error_text import LONGEST
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.config.secret_properties import SPARK_REDACTION
from headrace.plugins.config_transformer import ConfigTransformer, config_transformer, resolve_worker_properties
from headrace.plugins.discovery import Plugins
from headrace.plugins.resolved_config import ResolvedConfig

DATA = {
    ("", "key"): "plain",
    ("p", "key"): "under p",
    ("p", "other"): "${vault:key}",
    ("a/b", "key"): "deep",
    ("p", "two words"): "2",
    ("p", "a:b"): "colon",
}


class Vault(ConfigProvider):
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.ttls: dict[str, int] = {}
        self.error: Exception | None = None
        self.closed = 0

    def configure(self, configs: Mapping[str, Any]) -> None:
        if "fail" in configs:
            raise {"config": ConfigError.invalid("fail", "config", "no"), "other": ValueError("boom")}[configs["fail"]]

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        assert keys is not None
        if self.error is not None:
            raise self.error
        self.asked.append((path, tuple(sorted(keys))))
        found = {key: text for (at, key), text in DATA.items() if at == path and key in keys}
        return ConfigData(found, self.ttls.get(path))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def vault() -> Vault:
    return Vault()


@pytest.fixture
def transformer(vault: Vault) -> ConfigTransformer:
    return ConfigTransformer({"vault": vault})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no reference", "no reference"),
        ("${vault:key}", "plain"),
        ("${vault::key}", "plain"),
        ("${vault:p:key}", "under p"),
        ("${vault:a/b:key}", "deep"),
        ("<${vault:p:key}|${vault:a/b:key}>${vault:key}", "<under p|deep>plain"),
        ("${vault:p:two words}", "2"),
        ("${vault:p:a:b}", "colon"),
        # Not once more: what is handed out is no configuration.
        ("${vault:p:other}", "${vault:key}"),
        # As in Kafka Connect: neither an unknown provider nor a missing key is an error.
        ("${other:p:key} ${vault:key}", "${other:p:key} plain"),
        ("${vault:p:missing} ${vault:key}", "${vault:p:missing} plain"),
        ("${vault} ${} $vault:key} ${vault:key", "${vault} ${} $vault:key} ${vault:key"),
        # Better than in Kafka Connect, where a reference can begin in one pair of braces and end in another.
        ("${vault:key}:${vault:p:key}", "plain:under p"),
        ("${HOME} ${vault:key}", "${HOME} plain"),
        ("${${vault:key}}", "${plain}"),
        ("", ""),
    ],
)
def test_replacement(transformer: ConfigTransformer, text: str, expected: str) -> None:
    given = {"x": text, "none": None}
    resolved = transformer.transform(given)
    assert resolved.config == {"x": expected, "none": None}
    assert resolved.given == {"x": text, "none": None}
    assert resolved.referring == ({"x"} if text != expected else set())


def test_one_question_per_provider_and_path(transformer: ConfigTransformer, vault: Vault) -> None:
    transformer.transform({"a": "${vault:p:key}${vault:key}", "b": "${vault:p:other}", "c": "${other:q:key}"})
    assert sorted(vault.asked) == [("", ("key",)), ("p", ("key", "other"))]


def test_a_missing_key_is_warned_of(transformer: ConfigTransformer, caplog: pytest.LogCaptureFixture) -> None:
    transformer.transform({"db.password": "${vault:p:missing}"})
    assert "db.password: config provider vault has no value for ${vault:p:missing}" in caplog.text


def test_the_shortest_time_to_live_counts(transformer: ConfigTransformer, vault: Vault) -> None:
    config = {"a": "${vault:p:key}", "b": "${vault:key}", "c": "${vault:a/b:key}"}
    assert transformer.transform(config).ttl is None
    assert not transformer.transform(config).reloads
    vault.ttls = {"": 2500, "p": 700}
    resolved = transformer.transform(config)
    assert resolved.ttl == 0.7
    assert resolved.reloads
    assert not transformer.transform(config | {"config.action.reload": "NONE"}).reloads
    vault.ttls = {"p": -1}
    assert transformer.transform(config).ttl is None


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (
            ConfigError("/x may not be read", "allowed.paths"),
            ConfigError,
            r"Invalid value '${vault:p:key}' for configuration db.password: config provider vault: /x may not be read "
            r"(config.providers.vault.param.allowed.paths in the worker's properties)",
        ),
        (RetriableError("sealed"), RetriableError, "db.password=${vault:p:key}: config provider vault: sealed"),
        (OSError("gone"), ConnectError, "db.password=${vault:p:key}: config provider vault failed: OSError: gone"),
    ],
)
def test_what_a_provider_raises_is_reported_with_the_property(
    transformer: ConfigTransformer, vault: Vault, error: Exception, kind: type, text: str
) -> None:
    vault.error = error
    with pytest.raises(ConnectError) as raised:
        transformer.transform({"x": "1", "db.password": "<${vault:p:key}>"})
    assert type(raised.value) is kind
    assert str(raised.value) == text


def test_providers_of_a_worker(tmp_path: Path) -> None:
    (tmp_path / "s.properties").write_text("key=from a file\n")
    properties = {
        "config.providers": " file , java,env",
        "config.providers.file.class": "FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(tmp_path),
        "config.providers.java.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
        "config.providers.java.param.allowed.paths": str(tmp_path),
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "^PATH$",
    }
    transformer = config_transformer(properties, Plugins())
    config = {
        "a": f"${{file:{tmp_path}/s.properties:key}}",
        "b": f"${{java:{tmp_path}:s.properties}}",
        "c": "${env:PATH}",
    }
    resolved = transformer.transform(config).config
    assert (resolved["a"], resolved["b"]) == ("from a file", "key=from a file\n")
    assert "bin" in str(resolved["c"])
    transformer.close()


VAULT = f"{__name__}:Vault"


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"config.providers": "x"}, r"config\.providers lists x, but there is no config\.providers\.x\.class"),
        (
            {"config.providers": "x", "config.providers.x.class": "Nothing"},
            r"config\.providers\.x\.class: no such config",
        ),
        ({"config.providers": "x", "config.providers.x.class": "StringConverter"}, "no such config provider"),
        (
            {"config.providers": "x", "config.providers.x.class": "file", "config.providers.x.param.ttl.ms": "soon"},
            r"Config provider x, parameters config\.providers\.x\.param\.\*: Invalid value 'soon' for",
        ),
    ],
)
def test_a_worker_with_bad_providers_does_not_start(properties: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        config_transformer(properties, Plugins())


class VaultPlugins(Plugins):
    def __init__(self) -> None:
        super().__init__()
        self.made: list[Vault] = []

    def config_provider(self, name: str, property: str) -> Any:
        def make() -> Vault:
            self.made.append(Vault())
            return self.made[-1]

        return make


@pytest.mark.parametrize("how", ["config", "other"])
def test_providers_made_so_far_are_closed_when_one_cannot_be(how: str) -> None:
    plugins = VaultPlugins()
    properties = {
        "config.providers": "a,b",
        "config.providers.a.class": "Vault",
        "config.providers.b.class": "Vault",
        "config.providers.b.param.fail": how,
    }
    with pytest.raises(ConfigError, match="Config provider b"):
        config_transformer(properties, plugins)
    assert [vault.closed for vault in plugins.made] == [1, 0]


def test_a_workers_own_properties() -> None:
    plugins = VaultPlugins()
    properties = {
        "config.providers": "vault",
        "config.providers.vault.class": "Vault",
        "producer.sasl.jaas.config": "${vault:p:key}",
        "bootstrap.servers": "b:9092",
    }
    resolved = resolve_worker_properties(properties, plugins)
    assert resolved.config == properties | {"producer.sasl.jaas.config": "under p"}
    assert plugins.made[0].closed == 1


def test_spark_does_not_show_values() -> None:
    properties = {
        "config.providers": "vault",
        "config.providers.vault.class": "Vault",
        "spark.hadoop.fs.pin": "${vault:p:key}",
        "spark.master": "local[2]",
    }
    config = resolve_worker_properties(properties, VaultPlugins()).config
    assert config["spark.redaction.regex"] == rf"{SPARK_REDACTION}|fs\.pin"
    own = resolve_worker_properties(properties | {"spark.redaction.regex": "x"}, VaultPlugins()).config
    assert own["spark.redaction.regex"] == r"x|fs\.pin"


# ---- back to references


def resolved(**values: str) -> ResolvedConfig:
    given = {name: f"${{v:{name}}}" for name in values} | {"plain": "as written"}
    references = {f"${{v:{name}}}": text for name, text in values.items()}
    return ResolvedConfig(given, {**values, "plain": "as written"}, references)


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        ("s3cret", "login with s3cret failed: s3cret", "login with ${v:x} failed: ${v:x}"),
        ("s3cret\n", "Invalid value 's3cret' for", "Invalid value '${v:x}' for"),
        ("two\nlines", r"Invalid value 'two\nlines' for", "Invalid value '${v:x}' for"),
        ("it's a 'secret'", repr({"x": "it's a 'secret'"}), """{'x': "${v:x}"}"""),
        ("a.b*c", "a.b*c axbbc", "${v:x} axbbc"),
        # A short one only where it is reported as a bad value.
        ("1", "Invalid value '1' of 10", "Invalid value '${v:x}' of 10"),
        ("", "Invalid value '' for", "Invalid value '' for"),
    ],
)
def test_texts_are_reported_with_references(value: str, text: str, shown: str) -> None:
    assert resolved(x=value).hide(text) == shown


def test_the_longer_value_is_hidden_first() -> None:
    assert resolved(x="pass", y="password").hide("password pass") == "${v:y} ${v:x}"


def test_errors_come_out_without_values() -> None:
    config = resolved(port="s3cret")
    with pytest.raises(ConfigError) as raised, config.hidden_errors():
        raise ConfigError.invalid("port", "s3cret", "not a number")
    assert str(raised.value) == "Invalid value '${v:port}' for configuration port: not a number"
    assert (raised.value.name, raised.value.value) == ("port", "${v:port}")
    assert raised.value.__suppress_context__


def test_a_validation_shows_what_was_given() -> None:
    config = resolved(port="s3cret", count="4")
    judged = [
        ConfigValue("port", "s3cret", ["s3cret", 1], ["Invalid value 's3cret' for configuration port"]),
        ConfigValue("count", 4),
        ConfigValue("hosts", ["a:s3cret", "b"]),
        ConfigValue("plain", "as written"),
    ]
    shown = {value.name: value for value in config.conceal(judged)}
    assert shown["port"].value == "${v:port}"
    assert shown["port"].recommended_values == ["${v:port}", 1]
    assert shown["port"].error_messages == ["Invalid value '${v:port}' for configuration port"]
    assert (shown["count"].value, shown["hosts"].value) == ("${v:count}", ["a:${v:port}", "b"])
    assert shown["plain"].value == "as written"
    assert judged[0].value == "s3cret"


def test_task_configs_are_stored_with_references() -> None:
    config = resolved(password="correct horse", n="12")
    made = {"password": "correct horse", "url": "db://me:correct horse@host", "n": "12", "m": "12", "own": "x"}
    assert config.restore(made) == {
        "password": "${v:password}",
        "url": "db://me:${v:password}@host",
        "n": "${v:n}",
        "m": "12",
        "own": "x",
    }


def test_it_does_not_show_values_by_itself() -> None:
    assert "s3cret" not in repr(resolved(x="s3cret"))


def test_the_log_shows_references(transformer: ConfigTransformer, caplog: pytest.LogCaptureFixture) -> None:
    from headrace.plugins.log_hiding import LOG_FILTER

    transformer.transform({"x": "${vault:p:key}"})
    caplog.handler.addFilter(LOG_FILTER)
    logger = logging.getLogger("someone.else")
    try:
        logger.warning("value: %s", "under p")
        try:
            raise ValueError("it was under p")
        except ValueError:
            logger.exception("failed with %d", 3)
        logger.warning("%sunder p%s", "x" * (LONGEST // 2 - 5), "x" * LONGEST)
    finally:
        caplog.handler.removeFilter(LOG_FILTER)
    *whole, cut = caplog.messages
    assert whole == ["value: ${vault:p:key}", "failed with 3"]
    assert cut == "x" * (
        LONGEST // 2 - 5
    ) + "${vault:p:key}" + f" ... ({LONGEST // 2 + 2} characters left out) ... " + "x" * (LONGEST // 2)
    assert "under p" not in caplog.text
    assert "it was ${vault:p:key}" in caplog.text


def test_of_values_that_begin_alike_the_longest_is_hidden() -> None:
    from headrace.plugins.log_hiding import HidingFilter

    hiding = HidingFilter()
    hiding.add({"correct": "${short}", "correct-horse": "${long}"})
    line = logging.LogRecord("any", logging.INFO, "", 0, "correct-horse, correct", None, None)
    assert hiding.filter(line)
    assert line.msg == "${long}, ${short}"


def test_the_workers_log_is_such_a_log() -> None:
    from headrace.cli.console import LogLevel, configure_logging
    from headrace.plugins.log_hiding import LOG_FILTER

    root, headrace = logging.getLogger(), logging.getLogger("headrace")
    handlers, level, own_level = root.handlers[:], root.level, headrace.level
    try:
        configure_logging(LogLevel.INFO)
        assert all(LOG_FILTER in handler.filters for handler in root.handlers)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        headrace.setLevel(own_level)
