# SPDX-License-Identifier: Apache-2.0
"""Records such as no worker should write to an internal topic, as Hypothesis strategies."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

_FIELDS = (
    *("properties", "tasks", "task-count", "state", "state.v2", "key", "algorithm", "creation-timestamp", "level"),
    *("only-failed", "include-tasks", "producers", "trace", "worker_id", "generation", "version", "topic", "name"),
    *("connector", "task", "discoverTimestamp"),
)
_PREFIXES = (
    *("connector-", "task-", "commit-", "target-state-", "restart-connector-", "restart-task-", "removed-offsets-"),
    *("tasks-fencing-", "tasks-count-", "logger-cluster-", "session-key", "status-connector-", "status-task-"),
    *("status-topic-", "status-topic-t:connector-"),
)
_names = st.sampled_from(("", "a", "a-0", "b-00", "a--1", "a-99999999999999999999", "t:connector-a", "a-" + "9" * 5000))
_numbers = st.integers() | st.sampled_from((2**31, 2**63, -(2**63) - 1, 10**400)) | st.floats()
_texts = st.sampled_from(("RUNNING", "STARTED", "PAUSED", "UNASSIGNED", "!!", "AAAA")) | st.text()
_leaves = st.none() | st.booleans() | _numbers | _texts
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()  # with NaN, Infinity and halves of surrogate pairs, as Python writes them


def _spoilt(data: bytes, at: int, how: bytes) -> bytes:
    return data[:at] + how + data[at + 1 :]


_whole_values = st.builds(_json, st.dictionaries(st.sampled_from(_FIELDS), _values, min_size=1, max_size=6) | _values)
_spoilt_values = st.builds(_spoilt, _whole_values, st.integers(0, 40), st.binary(max_size=3))
_nested = st.builds(lambda n, open: open * n, st.integers(900, 3000), st.sampled_from((b"[", b'{"a":')))
_closed = st.builds(lambda n: b'{"a":' * n + b"1" + b"}" * n, st.integers(200, 1100))
VALUES = st.none() | st.just(b"") | st.binary(max_size=20) | _whole_values | _spoilt_values | _nested | _closed
_known_keys = st.builds(lambda prefix, name: (prefix + name).encode(), st.sampled_from(_PREFIXES), _names)
KEYS = _known_keys | st.none() | st.binary(max_size=20)
_offset_keys = st.tuples(st.sampled_from(("a", "good")), _values) | st.lists(_values, max_size=3)
OFFSET_KEYS = st.builds(_json, _offset_keys) | VALUES
