# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import logging
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from headrace.api.errors import ConfigError, ConnectError
from headrace.kafka.clients.client_config import kafka_python_config, producer_config
from headrace.kafka.clients.oauth_requests import Token, request_token
from headrace.kafka.clients.oauth_settings import OAuthSettings, RefreshTimes, RequestTimes, oauth_settings
from headrace.kafka.clients.oauth_tokens import TokenSource, renewal_time, token_source
from headrace.kafka.errors import RetriableKafkaError
from tests.support.oidc_server import CLIENT_ID, CLIENT_SECRET, SCOPE, OidcServer
from tests.support.polling import wait_for

URL: Final = "sasl.oauthbearer.token.endpoint.url"
QUICK: Final = {"sasl.login.retry.backoff.max.ms": "1", "sasl.login.retry.backoff.ms": "1"}
LOGIN: Final = {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET, "scope": SCOPE}


@pytest.fixture(scope="module")
def server() -> Iterator[OidcServer]:
    with OidcServer() as running:
        yield running


def settings(url: str, **options: str) -> OAuthSettings:
    return oauth_settings({URL: url, **QUICK}, LOGIN | options)


def test_properties_win_over_the_login_modules_options() -> None:
    own = "sasl.oauthbearer.client.credentials.client."
    props = {URL: "https://x/t", f"{own}id": "i", f"{own}secret": "s", "sasl.oauthbearer.scope": "o"}
    found = oauth_settings(props, LOGIN | {"extension_b": "2", "extension_a": "1", "ssl.truststore.type": "PEM"})
    assert found.credentials is not None
    assert (found.credentials.client_id, found.credentials.client_secret, found.credentials.scope) == ("i", "s", "o")
    assert (found.extensions, found.tls) == ((("a", "1"), ("b", "2")), (("ssl.truststore.type", "PEM"),))
    assert "'s'" not in repr(found)


@pytest.mark.parametrize(
    ("props", "expected"),
    [
        ({}, f"null for configuration {URL}: sasl.mechanism=OAUTHBEARER needs"),
        ({URL: "ftp://x/y"}, f"'ftp://x/y' for configuration {URL}"),
        ({URL: "https://x/y"}, r"Missing configuration .*client\.credentials\.client\.id: .*or clientId in sasl\.jaas"),
        (
            {URL: "file:///t", "sasl.login.callback.handler.class": "com.Mine"},
            "'com.Mine' for configuration sasl",
        ),
        ({URL: "file:///t", "sasl.oauthbearer.jwt.retriever.class": "a.JwtBearerJwtRetriever"}, "must be one of"),
        ({URL: "file:///t", "sasl.login.read.timeout.ms": "soon"}, "'soon' for configuration sasl.login.read"),
    ],
)
def test_mistakes_in_properties(props: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        oauth_settings(props, {})


def test_tokens_of_an_endpoint(server: OidcServer) -> None:
    token = request_token(settings(server.token_url))
    assert token.value == server.issued[-1]
    assert token.expires - token.issued == pytest.approx(300, abs=2)
    assert token.value not in repr(token)


def test_a_refused_client_is_reported_and_its_secret_is_not(server: OidcServer) -> None:
    with pytest.raises(
        ConfigError, match=f"configuration {URL}: .*'{CLIENT_ID}'.* 401, invalid_client, who is that"
    ) as e:
        request_token(settings(server.token_url, clientSecret="wr0ng"))
    assert "wr0ng" not in str(e.value) and "Basic" not in str(e.value)
    with pytest.raises(ConfigError, match="400, invalid_scope"):
        request_token(settings(server.token_url, scope="another"))


def test_what_may_pass(server: OidcServer) -> None:
    with pytest.raises(RetriableKafkaError, match=f"{URL}=http://127.0.0.1:1/t does not answer"):
        request_token(settings("http://127.0.0.1:1/t"))
    server.broken = True
    try:
        with pytest.raises(RetriableKafkaError, match="gives no token at present: it answers 503, temporarily"):
            request_token(settings(server.token_url))
    finally:
        server.broken = False


def test_tokens_of_a_file(server: OidcServer, tmp_path: Path) -> None:
    file = tmp_path / "a token.jwt"
    found = oauth_settings({URL: file.as_uri()}, {})
    with pytest.raises(ConfigError, match=f"for configuration {URL}: the token cannot be read: No such file"):
        request_token(found)
    file.write_text(server.client_token() + "\n")
    assert request_token(found).value == file.read_text().strip()
    file.write_text(server.token(exp=int(time.time()) - 60))
    with pytest.raises(RetriableKafkaError, match=r"has expired 6\d s ago"):
        request_token(found)
    for text in ("", "opaque", "a.b.c", "two words"):
        file.write_text(text)
        with pytest.raises(ConfigError, match=f"for configuration {URL}") as caught:
            request_token(found)
        assert not text or text not in str(caught.value)


def test_when_tokens_are_renewed() -> None:
    hour, minute = Token("t", 1000, 4600), Token("t", 1000, 1060)
    times = RefreshTimes()
    assert renewal_time(hour, times, 1000) == 1000 + 0.8 * 3600
    assert renewal_time(hour, times, 1000, 1.0) == pytest.approx(1000 + 0.85 * 3600)
    assert renewal_time(Token("t", 1000, 1600), times, 1000) == 1600 - 300  # the buffer
    assert renewal_time(Token("t", 0, 1361), times, 1000) == 1061  # the buffer, after the least period
    assert renewal_time(minute, times, 1000) == 1048  # too short a life for buffer and period


class Endpoint:
    """Tokens that live for ten seconds of ``now``; while ``down``, none."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.down: ConnectError | None = None
        self.asked = 0

    def request(self, _: OAuthSettings) -> Token:
        self.asked += 1
        if self.down is not None:
            raise self.down
        return Token(f"t{self.asked}", self.now, self.now + 10)

    def source(self, **times: float) -> TokenSource:
        made = OAuthSettings("https://x/t", None, request=RequestTimes(**times), refresh=RefreshTimes())
        return TokenSource(made, self.request, lambda: self.now, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_good_token_is_not_asked_for_again() -> None:
    endpoint = Endpoint()
    source = endpoint.source()
    source.ensure()
    source.ensure()
    assert (endpoint.asked, source.current().value) == (1, "t1")
    endpoint.now += 11
    with pytest.raises(RetriableKafkaError, match="no token of https://x/t at present"):
        source.current()
    source.ensure()
    assert source.current().value == "t2"


def test_who_asks_late_gets_a_new_one() -> None:
    endpoint = Endpoint()
    source = endpoint.source()
    source.ensure()
    endpoint.now += 7.9
    assert source.for_librdkafka("")[0] == "t1"
    endpoint.now += 0.1
    assert source.for_librdkafka("") == ("t2", endpoint.now + 10, "", {})


def test_an_endpoint_that_does_not_answer_is_asked_for_a_while() -> None:
    endpoint = Endpoint()
    endpoint.down = RetriableKafkaError("down")
    with pytest.raises(RetriableKafkaError, match="down"):
        endpoint.source(backoff=0.1, longest=10.0).ensure()
    assert endpoint.now == pytest.approx(1010)
    assert endpoint.asked == 8
    endpoint.down = ConfigError("401")
    with pytest.raises(ConfigError, match="401"):
        endpoint.source().ensure()
    assert endpoint.asked == 9


def test_the_present_token_is_used_while_the_endpoint_does_not_answer(caplog: pytest.LogCaptureFixture) -> None:
    endpoint = Endpoint()
    source = endpoint.source()
    source.ensure()
    endpoint.now += 8
    endpoint.down = RetriableKafkaError("down")
    with caplog.at_level(logging.INFO):
        assert [source.for_librdkafka("")[0] for _ in range(2)] == ["t1", "t1"]
        endpoint.down = None
        assert source.for_librdkafka("")[0] == "t4"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_clients_share_a_source_that_renews_by_itself_and_ends_with_them(server: OidcServer) -> None:
    server.lifetime = 3
    try:
        jaas = " ".join(f'{name}="{value}"' for name, value in LOGIN.items())
        props = {
            "bootstrap.servers": "localhost:1",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f'a.OAuthBearerLoginModule required {jaas} extension_team="x";',
            URL: server.token_url,
        }
        before = len(server.issued)
        source = weakref.ref(_follow_a_renewal(props, server, before))
    finally:
        server.lifetime = 300
    gc.collect()
    wait_for(lambda: source() is None, 10, "the source's end")


def _follow_a_renewal(props: dict[str, str], server: OidcServer, before: int) -> TokenSource:
    librdkafka, kafka_python = producer_config(props), kafka_python_config(props)
    provider = kafka_python["sasl_oauth_token_provider"]
    assert librdkafka["oauth_cb"]("")[0] == provider.token() == server.issued[-1]
    assert librdkafka["oauth_cb"]("")[3] == provider.extensions() == {"team": "x"}
    assert len(server.issued) == before + 1
    wait_for(lambda: len(server.issued) > before + 1, 10, "a second token")
    wait_for(lambda: provider.token() == server.issued[-1], 10, "it for the clients")
    source: TokenSource = librdkafka["oauth_cb"].__self__
    return source


def test_a_source_that_never_had_a_token_is_forgotten(server: OidcServer) -> None:
    refused = server.refusals
    for _ in range(2):
        with pytest.raises(ConfigError):
            token_source(settings(server.token_url, clientSecret="wrong"))
    assert server.refusals == refused + 2
