# SPDX-License-Identifier: Apache-2.0
"""The properties of automatic restarts: of the worker, and those that a connector may set for itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from headrace.api.config_def import ConfigDef, Importance, Type, Width
from headrace.api.validators import Nullable, Range, ValidString
from headrace.config.base_config import BaseConfig
from headrace.model.auto_restart import NO_POLICY, ON_FAILURE
from headrace.model.backoff import ExponentialBackoff

RESTART_POLICY: Final = "tasks.restart.policy"
RESTART_ATTEMPTS: Final = "tasks.restart.max.attempts"
RESTART_BACKOFF: Final = "tasks.restart.backoff.initial.ms"
RESTART_BACKOFF_MAX: Final = "tasks.restart.backoff.max.ms"
_POLICIES: Final = (NO_POLICY, ON_FAILURE)
_MOST_ATTEMPTS: Final = 1_000_000
_BACKOFF: Final = ExponentialBackoff(10.0, 3600.0)


@dataclass(frozen=True, slots=True)
class RestartRules:
    """The policy of automatic restarts, the most attempts in a row, and the wait before each of them."""

    policy: str = NO_POLICY
    max_attempts: int = 7
    backoff: ExponentialBackoff = _BACKOFF
    jitter: float = 0.2
    """The part of a wait by which it may be longer or shorter."""

    def of_connector(self, config: Mapping[str, str | None]) -> RestartRules:
        """Return the rules with the connector's own properties.

        The leader reads them as they are in the config topic. A reference to a config provider counts as no value.
        """
        policy, attempts = (config.get(RESTART_POLICY) or "").strip(), (config.get(RESTART_ATTEMPTS) or "").strip()
        return replace(
            self,
            policy=policy if policy in _POLICIES else self.policy,
            max_attempts=int(attempts) if attempts.isdecimal() and attempts.isascii() else self.max_attempts,
        )

    def delay_ms(self, attempt: int, about: str) -> int:
        """Return the wait in ms before attempt 1, 2, … at ``about``.

        The jitter depends on both alone, so that every worker, and the next leader, has the same wait.
        """
        digest = hashlib.blake2b(f"{about} {attempt}".encode(), digest_size=4).digest()
        chance = int.from_bytes(digest, "big") / 0xFFFF_FFFF
        seconds = self.backoff.after(attempt) * (1 + self.jitter * (2 * chance - 1))
        return int(min(seconds, self.backoff.longest) * 1000)


def define_task_restarts(definition: ConfigDef) -> ConfigDef:
    """Add the properties to a worker's definition."""
    low = Importance.LOW
    return (
        definition
        .define(RESTART_POLICY, Type.STRING, NO_POLICY, importance=low, validator=ValidString(*_POLICIES),
                doc="on-failure: the group's leader restarts failed connectors and tasks, with growing waits; none: "
                    "they stay FAILED. For connectors that do not set it. headrace only.")
        .define(RESTART_ATTEMPTS, Type.INT, 7, importance=low, validator=Range.between(0, _MOST_ATTEMPTS),
                doc="The most automatic restarts in a row, for connectors that do not set it. headrace only.")
        .define(RESTART_BACKOFF, Type.LONG, 10000, importance=low, validator=Range.at_least(1),
                doc="The wait in ms before the first automatic restart; it doubles with each further one. "
                    "headrace only.")
        .define(RESTART_BACKOFF_MAX, Type.LONG, 3600000, importance=low, validator=Range.at_least(1),
                doc="The longest wait in ms before an automatic restart. headrace only.")
    )  # fmt: skip


def define_connector_restarts(definition: ConfigDef, group: str, order: int) -> ConfigDef:
    """Add those of a connector, at ``order`` of ``group``. Java has none."""
    low = Importance.LOW
    return (
        definition
        .define(RESTART_POLICY, Type.STRING, None, importance=low, validator=Nullable(ValidString(*_POLICIES)),
                doc="on-failure: the connector and its tasks are restarted after failures, with growing waits; none: "
                    "they stay FAILED. By default the worker's value.",
                group=group, order_in_group=order, width=Width.SHORT, display_name="Restart Policy")
        .define(RESTART_ATTEMPTS, Type.INT, None, importance=low,
                validator=Nullable(Range.between(0, _MOST_ATTEMPTS)),
                doc="The most automatic restarts in a row; by default the worker's value.",
                group=group, order_in_group=order + 1, width=Width.SHORT, display_name="Restart Attempts")
    )  # fmt: skip


def restart_rules(config: BaseConfig) -> RestartRules:
    """Return the rules of a worker."""
    backoff = ExponentialBackoff(config.seconds(RESTART_BACKOFF), config.seconds(RESTART_BACKOFF_MAX))
    return RestartRules(config.get(RESTART_POLICY), config.get(RESTART_ATTEMPTS), backoff)
