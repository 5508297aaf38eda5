# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests: JSON, parsed as leniently as by Kafka Connect and no more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

from headrace.api.validators import NonEmptyStringWithoutControlChars
from headrace.herder.errors import BadRequestError
from headrace.model.state import TargetState
from headrace.rest.raw_path import encoded
from headrace.rest.schema_parts import body_doc
from headrace.storage import json_bytes

_MAX_ENCODED_NAME: Final = 4096
"""Longest name as a segment of a path, so that no client or proxy refuses the whole URL."""
_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""The characters that Java's ``String.trim`` removes."""
_INITIAL_STATES: Final = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
CONFIG_DOC: Final = body_doc("Config")
CREATE_DOC: Final = body_doc("CreateConnector")


@dataclass(frozen=True, slots=True)
class CreateConnectorRequest:
    """The body of ``POST /connectors``."""

    name: str
    config: Mapping[str, str | None]
    initial_state: TargetState | None


async def read_create_request(request: Request) -> CreateConnectorRequest:
    """Parse the body of ``POST /connectors``. Raise BadRequestError with the mistake."""
    body = json_object(await request.body(), "the body")
    unknown = sorted(body.keys() - {"name", "config", "initial_state"})
    if unknown:
        raise BadRequestError(f"Unrecognized field '{unknown[0]}': known are name, config and initial_state")
    config = connector_config(body.get("config"), "config")
    name = body.get("name")
    if name is None:
        name = ""
    if not isinstance(name, str):
        raise BadRequestError("The field 'name' of the request must be a string")
    return CreateConnectorRequest(name.strip(_BLANKS), config, initial_state(body.get("initial_state")))


async def read_config(request: Request) -> dict[str, str | None]:
    """Parse the body of ``PUT …/config``. Raise BadRequestError with the mistake."""
    return connector_config(json_object(await request.body(), "the body"), "the body")


def connector_config(value: Any, where: str) -> dict[str, str | None]:
    """Return properties as strings; numbers and booleans as written. Raise BadRequestError for other values."""
    if not isinstance(value, dict):
        raise BadRequestError(f"Expected a JSON object with the connector's properties in {where}")
    return {key: _text(key, item) for key, item in value.items()}


def named(name: str, config: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the config with its ``name``. Raise BadRequestError or ConfigError if it has another or an invalid one."""
    given = config.get("name")
    if not name:
        hint = "the request needs a field 'name' of its own" if given else "a connector's name cannot be empty"
        raise BadRequestError(f"Invalid value '' for configuration name: {hint}")
    NonEmptyStringWithoutControlChars().ensure_valid("name", name)
    if len(encoded(name)) > _MAX_ENCODED_NAME:
        start = f"Invalid value '{name[:40]}...' for configuration name"
        raise BadRequestError(f"{start}: it is too long for a URL, so that no request could name the connector")
    if given is not None and given != name:
        raise BadRequestError(
            f"Connector name configuration ({given}) doesn't match connector name in the request ({name})"
        )
    return {**config, "name": name}


def json_object(body: bytes, where: str) -> dict[str, Any]:
    """Parse a JSON object, numbers as strings. Raise BadRequestError for anything else."""
    try:
        # Numbers stay as written: "tasks.max": 1 is the text 1, and 1.50 is not 1.5.
        value = json.loads(body, parse_int=str, parse_float=str, parse_constant=json_bytes.refuse_constant)
        json_bytes.check_text(value)
    except (ValueError, RecursionError) as error:
        raise malformed(error, where) from error
    if not isinstance(value, dict):
        raise BadRequestError(f"Expected a JSON object in {where}, not {'null' if value is None else 'another value'}")
    return value


def malformed(error: Exception, where: str) -> BadRequestError:
    """Return the error to raise for that of a JSON parser."""
    why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return BadRequestError(f"Malformed JSON in {where}: {why}")


def _text(key: str, value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    raise BadRequestError(f"The value of property '{key}' must be a string, not a JSON object or array")


def initial_state(value: Any) -> TargetState | None:
    """Return a new connector's target state, None by default. Raise BadRequestError for other values."""
    if value is None:
        return None
    state = _INITIAL_STATES.get(value.upper()) if isinstance(value, str) else None
    if state is None:
        expected = ", ".join(_INITIAL_STATES)
        raise BadRequestError(f"Invalid value '{value}' for initial_state: one of {expected} expected")
    return state
