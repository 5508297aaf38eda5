# SPDX-License-Identifier: Apache-2.0
"""A connector's ``transforms``, made once and applied to every record. Java: ``TransformationChain``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.api.errors import ConfigError, ConnectError
from headrace.api.record import SourceRecord
from headrace.api.transform import Predicate, Transformation
from headrace.plugins.discovery import Plugins


@dataclass(frozen=True, slots=True)
class Stage:
    """One transformation under its alias, with the predicate that decides whether it applies."""

    alias: str
    transformation: Transformation[Any]
    predicate: Predicate[Any] | None
    negate: bool


class TransformationChain:
    """Used by the task's thread only."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages = tuple(stages)

    def __bool__(self) -> bool:
        return bool(self._stages)

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """The record after all stages; None as soon as one drops it."""
        current: SourceRecord | None = record
        for stage in self._stages:
            try:
                if stage.predicate is not None and stage.predicate.test(current) == stage.negate:
                    continue
                current = stage.transformation.apply(current)
            except ConnectError as error:
                error.add_note(f"in transformation {stage.alias}")
                raise
            except Exception as error:
                raise ConnectError(
                    f"transformation {stage.alias} failed on a record of topic {record.topic} with source offset "
                    f"{record.source_offset}: {type(error).__name__}: {error}"
                ) from error
            if current is None:
                return None
        return current

    def close(self) -> None:
        for stage in self._stages:
            stage.transformation.close()
            if stage.predicate is not None:
                stage.predicate.close()


def transformation_chain(config: Mapping[str, str], plugins: Plugins) -> TransformationChain:
    """The chain that a connector's ``transforms`` and ``predicates`` describe."""
    return TransformationChain([_stage(alias, config, plugins) for alias in _names(config.get("transforms"))])


def _stage(alias: str, config: Mapping[str, str], plugins: Plugins) -> Stage:
    properties = _with_prefix(config, f"transforms.{alias}.")
    kind = _required(properties.pop("type", None), f"transforms.{alias}.type")
    negate = properties.pop("negate", "false").strip().lower() == "true"
    predicate_name = properties.pop("predicate", None)
    if predicate_name is not None and predicate_name not in _names(config.get("predicates")):
        raise ConfigError.invalid(f"transforms.{alias}.predicate", predicate_name, "`predicates` does not list it")
    transformation = plugins.transformation(kind, f"transforms.{alias}.type")()
    transformation.configure(properties)
    # Its own instance for each stage, as each is closed with its stage.
    predicate = _predicate(predicate_name, config, plugins) if predicate_name else None
    return Stage(alias, transformation, predicate, negate)


def _predicate(alias: str, config: Mapping[str, str], plugins: Plugins) -> Predicate[Any]:
    properties = _with_prefix(config, f"predicates.{alias}.")
    kind = _required(properties.pop("type", None), f"predicates.{alias}.type")
    predicate = plugins.predicate(kind, f"predicates.{alias}.type")()
    predicate.configure(properties)
    return predicate


def _names(value: str | None) -> list[str]:
    return [name.strip() for name in (value or "").split(",") if name.strip()]


def _with_prefix(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix)}


def _required(value: str | None, name: str) -> str:
    if not value:
        raise ConfigError.invalid(name, value, "it names the class")
    return value
