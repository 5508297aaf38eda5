# SPDX-License-Identifier: Apache-2.0
"""What kind of session keys a worker makes, and for how long."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.config.session_key_config import SessionKeyRules, key_bytes
from headrace.model.cluster_config_state import SessionKey
from headrace.storage import config_records

NOW = 1_795_229_818_028
RULES = SessionKeyRules()
VECTORS = Path(__file__).parents[2] / "vectors" / "internal_formats.jsonl"


def java_key() -> SessionKey:
    """The one that a real Java leader wrote, with default settings."""
    lines = VECTORS.read_text(encoding="utf-8").splitlines()
    (vector,) = [json.loads(line) for line in lines if '"internal_formats/eos-config-000-session-key-"' in line]
    record = config_records.decode("session-key", json.loads(vector["output"]["value"]["text"]))
    assert isinstance(record, config_records.SessionKeyRecord)
    return record.key


def test_a_new_key_is_as_random_as_it_is_long() -> None:
    key = RULES.new_key(NOW, lambda size: bytes(range(size)))
    assert key == SessionKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "HmacSHA256", NOW)
    assert key_bytes(key) == bytes(range(32))
    assert len({RULES.new_key(NOW).key for _ in range(20)}) == 20


def test_javas_key_fits_and_ours_looks_like_it() -> None:
    assert RULES.fits(java_key())
    assert RULES.fits(RULES.new_key(NOW))


@pytest.mark.parametrize(
    "key",
    [
        None,
        SessionKeyRules("HmacSHA512", 32).new_key(NOW),
        SessionKeyRules("HmacSHA256", 16).new_key(NOW),
        SessionKey("no base64!", "HmacSHA256", NOW),
        SessionKey("", "HmacSHA256", NOW),
    ],
)
def test_keys_that_do_not_fit(key: SessionKey | None) -> None:
    assert not RULES.fits(key)


def test_an_algorithms_case_does_not_matter() -> None:
    assert RULES.fits(replace(RULES.new_key(NOW), algorithm="hmacsha256"))


@pytest.mark.parametrize(
    ("age_ms", "seconds"),
    [(0, 3600.0), (1000, 3599.0), (3_600_000, 0.0), (9_999_999_999, 0.0), (-50_000, 3600.0)],
)
def test_the_time_that_is_left_to_a_key(age_ms: int, seconds: float) -> None:
    assert RULES.time_left(RULES.new_key(NOW - age_ms), NOW) == seconds


def test_a_key_without_age() -> None:
    assert SessionKeyRules(ttl_ms=0).time_left(RULES.new_key(0), NOW) is None


def test_a_key_does_not_show_itself() -> None:
    key = RULES.new_key(NOW)
    assert key.key not in repr(key)
