# SPDX-License-Identifier: Apache-2.0
"""A connector's overrides of client properties (KIP-458), and the URLs and files that clients may use.

A plugin accepts or refuses the overrides: ``headrace.plugins.override_policies``. Every configuration that a worker
runs has passed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.config.base_config import BaseConfig

POLICY_PROPERTY: Final = "connector.client.config.override.policy"
ALLOWLIST_PROPERTY: Final = "connector.client.config.override.allowlist"
ALL: Final = "All"
PRINCIPAL: Final = frozenset({"security.protocol", "sasl.jaas.config", "sasl.mechanism"})

ALLOWED_URLS: Final = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
ALLOWED_FILES: Final = "org.apache.kafka.sasl.oauthbearer.allowed.files"
"""Java's system properties; in headrace they are properties of the worker."""
_OAUTH: Final = "sasl.oauthbearer."
_COMMAND: Final = "sasl.kerberos.kinit.cmd"
_CLIENT_PREFIXES: Final = ("producer.", "consumer.", "admin.")

IGNORED_ANYWAY: Final = frozenset({"transactional.id", "enable.idempotence"})
"""The worker sets these itself and warns of other values, whatever the policy."""


@dataclass(frozen=True, slots=True)
class ClientResources:
    """The URLs and files of OAUTHBEARER that a connector's clients may use, whatever the policy.

    They are those that the worker lists or uses itself. Java: ``ConfigurationUtils``, which checks the worker's own
    clients in the same way.
    """

    urls: frozenset[str]
    files: frozenset[str]
    own: frozenset[tuple[str, str]]
    """The worker's own properties, with and without a client's prefix."""

    def refusal(self, name: str, value: str) -> str | None:
        """Return the reason why a connector may not set the client property ``name`` to ``value``; None if it may."""
        if name == _COMMAND:
            return f"'{name}' names a program to run: only the worker's own properties may set it."
        kind, listed = (ALLOWED_FILES, self.files) if name.endswith(".file") else (ALLOWED_URLS, self.urls)
        if not name.startswith(_OAUTH) or not name.endswith((".url", ".file")):
            return None
        if value in listed or (name, value) in self.own:
            return None
        return f"Clients may only be led to what the worker's {kind} lists."


def client_resources(worker: BaseConfig) -> ClientResources:
    own = {(name.removeprefix(prefix), text) for name, text in worker.raw.items() for prefix in ("", *_CLIENT_PREFIXES)}
    return ClientResources(frozenset(worker.get(ALLOWED_URLS)), frozenset(worker.get(ALLOWED_FILES)), frozenset(own))


def overrides_of(connector_config: Mapping[str, str | None], client: str) -> dict[str, str]:
    """Return a connector's overrides for ``client`` (producer, consumer or admin), prefix removed, unchecked."""
    prefix = f"{client}.override."
    return {
        key[len(prefix) :]: text
        for key, text in connector_config.items()
        if text is not None and key.startswith(prefix) and key != prefix
    }
