# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket

import pytest

from headrace.spark.engine.master import host_towards, is_local, is_loopback, unreachable


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[256,4]", True), ("local-cluster[2,1,512]", False), ("spark://h:7077", False),
     ("yarn", False), ("k8s://https://h:6443", False)],
)  # fmt: skip
def test_local_is_what_runs_below_the_driver(master: str, local: bool) -> None:
    assert is_local(master) is local


def test_a_master_is_there_if_one_of_its_addresses_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert unreachable(f"spark://127.0.0.1:{port}") is None
        assert unreachable(f"spark://127.0.0.1:1,127.0.0.1:{port}") is None
        assert unreachable(f"k8s://https://127.0.0.1:{port}/path") is None
        assert unreachable(f"k8s://127.0.0.1:{port}") is None
    assert unreachable("spark://127.0.0.1:1") == "no answer at 127.0.0.1:1: Connection refused"
    assert unreachable("k8s://https://127.0.0.1:1") == "no answer at 127.0.0.1:1: Connection refused"


@pytest.mark.parametrize("master", ["yarn", "local[2]", "spark://nonsense", "mesos://h:5050"])
def test_what_has_no_address_is_sparks_to_judge(master: str) -> None:
    assert unreachable(master) is None


@pytest.mark.parametrize("master", ["spark://127.0.0.1:7077", "spark://localhost:7077", "k8s://https://127.0.0.1"])
def test_executors_reach_the_driver_where_the_master_sees_it(master: str) -> None:
    assert is_loopback(host_towards(master))


@pytest.mark.parametrize("master", ["yarn", "spark://no-such-host.invalid:7077"])
def test_without_a_way_to_the_master_the_machines_name_has_to_do(master: str) -> None:
    assert host_towards(master) == socket.getfqdn()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("192.0.2.1", False), ("no.invalid", False)],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
