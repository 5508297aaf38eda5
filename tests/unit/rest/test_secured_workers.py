# SPDX-License-Identifier: Apache-2.0
"""Two workers with HTTPS, certificates for both sides and basic auth: forwarding, and what they ask of each other."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp

from headrace.api.errors import ConnectError
from headrace.config.session_key_config import mac_algorithm
from headrace.herder.errors import NotLeaderError
from headrace.model.cluster_config_state import Config, SessionKey
from headrace.rest.app import OtherWorkers, create_app
from headrace.rest.internal_request_signature import SignatureVerifier
from headrace.rest.leader_client import LeaderClient
from headrace.rest.rest_client import RestClient

Serve = Callable[..., Any]
KEY = SessionKey("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=", "HmacSHA256", 0)
SHA256 = mac_algorithm("HmacSHA256")
assert SHA256 is not None


class Cluster:
    """What other workers ask of the leader."""

    def __init__(self) -> None:
        self.published: list[tuple[str, Sequence[Config]]] = []

    def signed(self) -> bool:
        return True

    def session_key(self) -> SessionKey:
        return KEY

    def put_task_configs(self, name: str, configs: Sequence[Config]) -> Future[None]:
        self.published.append((name, configs))
        done: Future[None] = Future()
        done.set_result(None)
        return done


@pytest.fixture
def workers(serve_api: Serve, served: tuple[Any, Any], certificates: Any, tmp_path: Path) -> SimpleNamespace:
    """A leader and a follower; ``http`` is a client of the follower that its TLS lets in, with no password."""
    users = tmp_path / "users.properties"
    users.write_text("anna=secret\n")
    properties = {
        "listeners": "https://127.0.0.1:0",
        "listeners.https.ssl.keystore.location": certificates.worker,
        "listeners.https.ssl.truststore.location": certificates.ca,
        "listeners.https.ssl.client.auth": "required",
        "rest.extension.classes": "BasicAuthSecurityRestExtension",
        "rest.basic.auth.credentials.file": str(users),
        "group.id": "g",
    }
    herders, cluster = [type(served[0])() for _ in range(2)], Cluster()

    def serve(herder: Any) -> Any:
        def make_app(endpoints: Any) -> ASGIApp:
            client = RestClient(endpoints.tls.client)
            others = OtherWorkers(cluster, client, SignatureVerifier([SHA256]))  # type: ignore[arg-type]
            return create_app(herder, request_timeout=1, others=others)

        return serve_api(properties, make_app, herder)

    leader, follower = serve(herders[0]), serve(herders[1])
    herders[1].error = NotLeaderError("Only the leader can", leader.endpoints.advertised_url)
    context = ssl.create_default_context(cafile=certificates.ca)
    context.load_cert_chain(certificates.client)
    http = httpx2.Client(base_url=follower.url, verify=context, timeout=10)
    return SimpleNamespace(leader=leader, follower=follower, herder=herders[0], cluster=cluster, http=http)


def test_a_users_request_is_forwarded_with_the_users_password(workers: SimpleNamespace) -> None:
    create = {"name": "c", "config": {"k": "v"}}
    refused = workers.http.post("/connectors", json=create)
    assert (refused.status_code, workers.herder.configs) == (401, {})
    created = workers.http.post("/connectors", json=create, auth=("anna", "secret"))
    assert (created.status_code, created.headers["location"]) == (201, f"{workers.leader.url}/connectors/c")
    assert workers.herder.configs == {"c": {"k": "v", "name": "c"}}


def test_a_worker_needs_a_signature_and_no_password(workers: SimpleNamespace) -> None:
    assert SHA256 is not None
    client = LeaderClient(RestClient(workers.follower.endpoints.tls.client), SHA256, 1)
    client.put_task_configs(workers.leader.url, "c", [{"a": "1"}], KEY)
    assert workers.cluster.published == [("c", [{"a": "1"}])]
    with pytest.raises(ConnectError, match=r"answered 400 .* has to be signed"):
        client.put_task_configs(workers.leader.url, "c", [], None)
    unsigned = workers.http.post("/connectors/c/tasks", json=[], auth=("anna", "secret"))
    assert unsigned.status_code == 400 and len(workers.cluster.published) == 1
