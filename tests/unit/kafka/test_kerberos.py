# SPDX-License-Identifier: Apache-2.0
"""Which login is meant, and what is said of one that fails; gssapi is made up here, see tests/security for MIT's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.api.errors import ConfigError
from headrace.kafka.clients import kerberos
from headrace.kafka.clients.kerberos import KerberosLogin, kerberos_login, log_in
from headrace.kafka.errors import RetriableKafkaError


class GSSError(Exception):
    def __init__(self, min_code: int, text: str) -> None:
        super().__init__("Major (458752): No credentials were supplied")
        self.min_code = min_code
        self._text = text

    def get_all_statuses(self, code: int, is_major: bool) -> list[str]:
        assert (code, is_major) == (self.min_code, False)
        return [self._text]


class Gssapi(SimpleNamespace):
    """Answers a request for credentials with `answer`."""

    def __init__(self) -> None:
        super().__init__(exceptions=SimpleNamespace(GSSError=GSSError))
        self.NameType = SimpleNamespace(kerberos_principal="principal")
        self.answer: GSSError | int = 3600
        self.asked: list[dict[str, Any]] = []

    def Name(self, name: str, kind: str) -> str:
        return f"{kind} {name}"

    def Credentials(self, **arguments: Any) -> SimpleNamespace:
        self.asked.append(arguments)
        if isinstance(self.answer, GSSError):
            raise self.answer
        return SimpleNamespace(lifetime=self.answer)


@pytest.fixture
def gssapi(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gssapi]:
    made_up = Gssapi()
    monkeypatch.setitem(sys.modules, "gssapi", made_up)
    monkeypatch.setattr(kerberos, "_login", None)
    put: dict[str, str] = {}
    monkeypatch.setattr(kerberos, "_set_variable", put.__setitem__)
    made_up.put = put
    yield made_up


@pytest.fixture
def keytab(tmp_path: Path) -> str:
    path = tmp_path / "k"
    path.write_bytes(b"\x05\x02")
    return str(path)


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ({"useKeyTab": "true", "keyTab": "/k", "principal": "p@R"}, KerberosLogin("/k", "p@R")),
        ({"keyTab": "/k"}, KerberosLogin("/k")),
        ({"useKeyTab": "false", "keyTab": "/k", "principal": "p@R"}, KerberosLogin()),
        ({"useTicketCache": "true", "ticketCache": "/c"}, KerberosLogin(cache="/c")),
        ({}, KerberosLogin()),
    ],
)
def test_the_login_modules_options(options: dict[str, str], meant: KerberosLogin) -> None:
    assert kerberos_login({}, options) == meant


def test_librdkafkas_own_names() -> None:
    props = {"sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "p@R"}
    assert kerberos_login(props, {}) == KerberosLogin("/k", "p@R")


def test_tickets_of_a_keytab_are_in_memory(gssapi: Gssapi, keytab: str) -> None:
    log_in(KerberosLogin(keytab, "p@R"))
    store = {"client_keytab": keytab, "ccache": "MEMORY:headrace"}
    assert gssapi.asked == [{"name": "principal p@R", "usage": "initiate", "store": store}]
    assert gssapi.put == {"KRB5_CLIENT_KTNAME": keytab, "KRB5CCNAME": "MEMORY:headrace"}


def test_a_process_has_one_login(gssapi: Gssapi, keytab: str) -> None:
    log_in(KerberosLogin(keytab, "p@R"))
    log_in(KerberosLogin(keytab, "p@R"))
    with pytest.raises(ConfigError, match=r"as p@R of \S+, none can as q@R of \S+; a worker has one login, "):
        log_in(KerberosLogin(keytab, "q@R"))
    assert len(gssapi.asked) == 2


def test_a_login_that_failed_is_no_principals(gssapi: Gssapi, keytab: str) -> None:
    gssapi.answer = GSSError(1, "Clock skew too great")
    with pytest.raises(ConfigError, match=r"no Kerberos ticket to be had as p@R of \S+: Clock skew too great$"):
        log_in(KerberosLogin(keytab, "p@R"))
    gssapi.answer = 3600
    log_in(KerberosLogin(keytab, "q@R"))


def test_files_that_are_no_keytabs(gssapi: Gssapi, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config: keyTab \S+/none cannot be read: No such file"):
        log_in(KerberosLogin(str(tmp_path / "none")))
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config: keyTab \S+/text is not a keytab"):
        log_in(KerberosLogin(str(tmp_path / "text")))
    assert gssapi.asked == []


def test_a_kdc_that_does_not_answer_may_later(gssapi: Gssapi, keytab: str) -> None:
    gssapi.answer = GSSError(2529639068, "Cannot contact any KDC for realm 'R'")
    with pytest.raises(RetriableKafkaError, match="Cannot contact any KDC"):
        log_in(KerberosLogin(keytab))


def test_a_cache_without_valid_tickets(gssapi: Gssapi) -> None:
    gssapi.answer = GSSError(2529639053, "No Kerberos credentials available")
    with pytest.raises(ConfigError, match="No Kerberos credentials available; give a keyTab, or run kinit"):
        log_in(KerberosLogin(cache="/c"))
    gssapi.answer = 0
    with pytest.raises(ConfigError, match="those of the cache have expired"):
        log_in(KerberosLogin())
    assert gssapi.put == {}
    gssapi.answer = 3600
    log_in(KerberosLogin(cache="/c"))
    assert gssapi.put == {"KRB5CCNAME": "/c"}
