# SPDX-License-Identifier: Apache-2.0
"""Catalogs of taps: which streams and fields a run reads. Pure."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from headrace.api.errors import DataError

Catalog = dict[str, Any]
_SELECTED: Final = "selected"
_METADATA: Final = "metadata"
_BREADCRUMB: Final = "breadcrumb"


def parse_catalog(text: str | bytes) -> Catalog:
    """Return the catalog of a JSON text. Raise DataError if it is none."""
    try:
        catalog = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"it is no JSON: {error}") from error
    streams = catalog.get("streams") if isinstance(catalog, dict) else None
    if not isinstance(streams, list) or not all(isinstance(each, dict) and _name(each) for each in streams):
        raise DataError("it is no JSON object with a list of streams, each with a tap_stream_id")
    return dict(catalog)


def matcher(include: Sequence[str], exclude: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that returns True if a stream matches one of the patterns to include and none to exclude."""

    def matches(stream: str) -> bool:
        return any(fnmatchcase(stream, each) for each in include or ("*",)) and not any(
            fnmatchcase(stream, each) for each in exclude
        )

    return matches


def selected_streams(catalog: Catalog, matches: Callable[[str], bool], discovered: bool) -> list[str]:
    """Return the names of the streams to read, sorted.

    Of a ``discovered`` catalog these are all that match; of one that the user wrote, those that it selects.
    """
    streams = (each for each in catalog["streams"] if discovered or _is_selected(each))
    return sorted(_name(each) for each in streams if matches(_name(each)))


def selecting(
    catalog: Catalog, streams: Sequence[str], discovered: bool, metadata: Mapping[str, Mapping[str, Any]]
) -> Catalog:
    """Return the catalog with only these streams selected; of a discovered one, with all of their fields.

    ``metadata`` is added to that of the streams that match its patterns, such as a ``replication-method``.
    """
    changed = copy.deepcopy(catalog)
    for stream in changed["streams"]:
        chosen = _name(stream) in streams
        _mark(stream, chosen)
        if chosen and discovered:
            _select_fields(stream)
        for pattern, more in metadata.items():
            if chosen and fnmatchcase(_name(stream), pattern):
                _add_metadata(stream, more)
    return changed


def _name(stream: Mapping[str, Any]) -> str:
    return str(stream.get("tap_stream_id") or stream.get("stream") or "")


def _entries(stream: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries = stream.get(_METADATA)
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def _own_metadata(stream: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of the stream itself, which has an empty breadcrumb."""
    found = next((each for each in _entries(stream) if not each.get(_BREADCRUMB)), {})
    return dict(found.get(_METADATA) or {})


def _is_selected(stream: Mapping[str, Any]) -> bool:
    schema = stream.get("schema")
    flags = (_own_metadata(stream).get(_SELECTED), stream.get(_SELECTED), (schema or {}).get(_SELECTED))
    return bool(next((flag for flag in flags if flag is not None), False))


def _mark(stream: dict[str, Any], chosen: bool) -> None:
    """Select the stream or not, in all ways in which taps look it up."""
    stream[_SELECTED] = chosen
    if isinstance(stream.get("schema"), dict):
        stream["schema"][_SELECTED] = chosen
    _add_metadata(stream, {_SELECTED: chosen})


def _add_metadata(stream: dict[str, Any], more: Mapping[str, Any]) -> None:
    entries = _entries(stream)
    own = next((each for each in entries if not each.get(_BREADCRUMB)), None)
    if own is None:
        own = {_BREADCRUMB: []}
        entries.append(own)
    own[_METADATA] = {**(own.get(_METADATA) or {}), **more}
    stream[_METADATA] = entries


def _select_fields(stream: dict[str, Any]) -> None:
    for entry in _entries(stream):
        metadata = entry.setdefault(_METADATA, {})
        available = metadata.get("inclusion") == "available" and metadata.get("selected-by-default") is not False
        if entry.get(_BREADCRUMB) and available:
            metadata.setdefault(_SELECTED, True)
