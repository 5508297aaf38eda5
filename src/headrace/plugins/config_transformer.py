# SPDX-License-Identifier: Apache-2.0
"""Resolution of references such as ``${file:/etc/secrets:key}`` when a connector, a task or a worker starts.

Topics, REST answers and logs keep the references. Java: ``ConfigTransformer``, ``WorkerConfigTransformer``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from headrace.api.config_def import HIDDEN
from headrace.api.config_provider import ConfigData, ConfigProvider
from headrace.api.error_text import error_line, error_text
from headrace.api.errors import ConfigError, ConnectError, RetriableError
from headrace.config.secret_properties import SPARK_REDACTION
from headrace.config.worker_config import CONFIG_PROVIDERS
from headrace.model.cluster_config_state import Config
from headrace.plugins.discovery import Plugins, comma_separated
from headrace.plugins.log_hiding import LOG_FILTER
from headrace.plugins.resolved_config import ResolvedConfig
from headrace.plugins.secret_options import secret_values

log = logging.getLogger(__name__)

_REFERENCE: Final = re.compile(r"\$\{([^{}:]*):(?:([^}]*?):)?([^}]*)\}")
"""Kafka Connect's pattern, except that no part extends beyond its brace: ``${env:USER}:${env:PASSWORD}`` are two."""
_REDACTION: Final = "spark.redaction.regex"


@dataclass(frozen=True, slots=True)
class Reference:
    """One ``${provider:path:key}`` in the value of ``property``; ``text`` is the whole of it, the path may be empty."""

    property: str
    text: str
    provider: str
    path: str
    key: str


@runtime_checkable
class Limitable(Protocol):
    """A config provider with a parameter that limits what may be read."""

    def missing_limit(self) -> str | None:
        """Return the parameter that would limit what may be read; None if it is set."""


class ConfigTransformer:
    """A resolver of references to one worker's providers. Any thread may use it; it blocks while a provider does."""

    def __init__(self, providers: Mapping[str, ConfigProvider]) -> None:
        self._providers = providers

    def transform(self, config: Config) -> ResolvedConfig:
        """Resolve every reference to a known provider, once: values are not searched for references again.

        A reference to an unknown provider or a missing key stays as it is, as in Kafka Connect. Raise ConfigError, of
        one line, if a provider refuses a path or cannot read it.
        """
        references = [reference for reference in _references(config) if reference.provider in self._providers]
        answers = self._answers(references)
        values = {}
        for reference in references:
            value = answers[reference.provider, reference.path].data.get(reference.key)
            if value is None:
                log.warning("%s: config provider %s has no value for %s, which stays as it is",
                            reference.property, reference.provider, reference.text)  # fmt: skip
            else:
                values[reference.text] = value
        secrets = secret_values(config)
        LOG_FILTER.add({**dict.fromkeys(secrets, HIDDEN), **{value: text for text, value in values.items()}})
        resolved = {name: None if text is None else _replace(text, values) for name, text in config.items()}
        ttls = [answer.ttl_ms for answer in answers.values() if answer.ttl_ms is not None and answer.ttl_ms >= 0]
        return ResolvedConfig(config, resolved, values, min(ttls) / 1000 if ttls else None, secrets)

    def warn_of_missing_limits(self) -> None:
        """Log one warning about providers that may read whatever the worker can; for the worker's start."""
        missing = {
            name: limit
            for name, provider in self._providers.items()
            if isinstance(provider, Limitable) and (limit := provider.missing_limit()) is not None
        }
        if missing:
            properties = ", ".join(f"{CONFIG_PROVIDERS}.{name}.param.{limit}" for name, limit in missing.items())
            log.warning(
                "Whoever creates connectors can have them read all that this worker can read, by config provider %s. "
                "To limit that, set %s",
                ", ".join(missing),
                properties,
            )

    def close(self) -> None:
        """Close the providers. Called once, last."""
        for name, provider in self._providers.items():
            try:
                provider.close()
            except Exception:
                log.warning("Config provider %s failed to close", name, exc_info=True)

    def _answers(self, references: list[Reference]) -> dict[tuple[str, str], ConfigData]:
        """Return the providers' data, with one call per provider and path."""
        asked: dict[tuple[str, str], list[Reference]] = {}
        for reference in references:
            asked.setdefault((reference.provider, reference.path), []).append(reference)
        return {place: self._ask(asking) for place, asking in asked.items()}

    def _ask(self, references: list[Reference]) -> ConfigData:
        first = references[0]
        keys = frozenset(reference.key for reference in references)
        try:
            return self._providers[first.provider].get(first.path, keys)
        except ConfigError as error:
            raise ConfigError.invalid(first.property, first.text, _message(first.provider, error)) from error
        except RetriableError as error:
            raise RetriableError(f"{first.property}={first.text}: {_message(first.provider, error)}") from error
        except BaseException as error:
            reason = f"config provider {first.provider} failed: {error_line(error)}"
            raise ConnectError(f"{first.property}={first.text}: {reason}") from error


def config_transformer(properties: Mapping[str, str], plugins: Plugins) -> ConfigTransformer:
    """Create the transformer for a worker's ``config.providers``. Raise ConfigError for one missing or not usable."""
    providers: dict[str, ConfigProvider] = {}
    transformer = ConfigTransformer(providers)
    try:
        for name in comma_separated(properties.get(CONFIG_PROVIDERS)):
            providers[name] = _provider(name, properties, plugins)
    except BaseException:
        transformer.close()
        raise
    return transformer


def referenced_paths(config: Config) -> frozenset[str]:
    """Return the paths in references, of files and directories or of what a provider takes for one."""
    return frozenset(reference.path for reference in _references(config) if reference.path)


def resolve_worker_properties(properties: Mapping[str, str], plugins: Plugins) -> ResolvedConfig:
    """Resolve the references in a worker's own properties, as Kafka Connect does. Raise ConfigError if one fails.

    Spark shows its properties in its UI and its logs: those with references are added to those that it redacts.
    """
    transformer = config_transformer(properties, plugins)
    try:
        resolved = transformer.transform(properties)
    finally:
        transformer.close()
    secret = [name for name in resolved.referring if name.startswith("spark.")]
    if not secret:
        return resolved
    shown = "|".join(re.escape(name.removeprefix("spark.hadoop.")) for name in secret)
    pattern = f"{properties.get(_REDACTION, SPARK_REDACTION)}|{shown}"
    return resolved.with_value(_REDACTION, pattern)


def _provider(name: str, properties: Mapping[str, str], plugins: Plugins) -> ConfigProvider:
    prefix = f"{CONFIG_PROVIDERS}.{name}."
    class_name = properties.get(f"{prefix}class", "").strip()
    if not class_name:
        raise ConfigError(f"{CONFIG_PROVIDERS} lists {name}, but there is no {prefix}class", f"{prefix}class")
    cls = plugins.config_provider(class_name, f"{prefix}class")
    given = f"{prefix}param."
    parameters: dict[str, Any] = {key[len(given) :]: text for key, text in properties.items() if key.startswith(given)}
    try:
        provider = cls()
        provider.configure(parameters)
    except ConfigError as error:
        named = f"{given}{error.name}" if error.name else None
        raise ConfigError(f"Config provider {name}, parameters {given}*: {error_text(error)}", named) from error
    except BaseException as error:
        raise ConfigError(f"Config provider {name} cannot be made: {error_line(error)}") from error
    return provider


def _references(config: Config) -> Iterator[Reference]:
    for name, text in config.items():
        for match in _REFERENCE.finditer(text or ""):
            yield Reference(name, match[0], match[1], match[2] or "", match[3])


def _replace(text: str, values: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: values.get(match[0], match[0]), text)


def _message(provider: str, error: ConnectError) -> str:
    """Return an error's text, with a provider's parameter by its name among the worker's properties."""
    name = error.name if isinstance(error, ConfigError) else None
    hint = f" ({CONFIG_PROVIDERS}.{provider}.param.{name} in the worker's properties)" if name else ""
    return f"config provider {provider}: {error_text(error)}{hint}"
