# SPDX-License-Identifier: Apache-2.0
"""HasHeaderKey (Java: `org.apache.kafka.connect.transforms.predicates.HasHeaderKey`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace import KAFKA_VERSION
from headrace.api.config_def import ConfigDef, Type
from headrace.api.transform import Predicate, R
from headrace.api.validators import NonEmptyString

NAME: Final = "name"


class HasHeaderKey(Predicate[R]):
    """A predicate that is true for records with at least one header of that name, whatever its value."""

    def version(self) -> str:
        return KAFKA_VERSION

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._name = _CONFIG.parse(configs)[NAME]

    def test(self, record: R) -> bool:
        if record.has_headers:
            name = self._name
            for header in record.headers:
                if header.key == name:
                    return True
        return False


_CONFIG: Final = ConfigDef().define(NAME, Type.STRING, validator=NonEmptyString(), doc="The name of the header.")
