# SPDX-License-Identifier: Apache-2.0
"""Checks of the way to the brokers: each server of ``bootstrap.servers``, and the cluster behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from headrace.api.errors import ConnectError
from headrace.config import client_configs
from headrace.config.worker_config import BOOTSTRAP_SERVERS
from headrace.doctor.findings import Finding, counted, ok, problem, warning
from headrace.doctor.runner import TimedCall, call_all
from headrace.doctor.subject import TIMEOUT_S, Subject, logins
from headrace.kafka.admin.broker_connection import ConnectionFailure, Step, connection_failure, tcp_failure
from headrace.kafka.admin.cluster_queries import Broker, Cluster

_NEEDED_REQUESTS: Final = {
    "transactions": ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"),
    "topics": ("CreateTopics", "DescribeConfigs", "ListOffsets"),
    "groups": ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "DescribeGroups"),
    "changes of offsets": ("OffsetDelete", "DeleteGroups"),
}
_ADVERTISED_S: Final = 4.0
_CONNECTION_S: Final = 12.0
"""Seconds for a connection, in all its steps: to look up a name has no limit of its own."""
_Failure = ConnectionFailure | ConnectError | None
_REMEDIES: Final = {
    Step.ADDRESS: "write it as host:port",
    Step.NAME: "correct the name, or this machine's DNS and /etc/hosts",
    Step.TCP: "start the broker, or correct host, port and firewalls",
    Step.TLS: "check security.protocol, ssl.truststore.*, ssl.keystore.* and the broker's certificate",
    Step.LOGIN: "check security.protocol, sasl.mechanism and the user and password of sasl.jaas.config",
    Step.REQUEST: "check security.protocol: the port may need a login (SASL_PLAINTEXT), or be no broker's",
}


def check_brokers(subject: Subject) -> Iterator[Finding]:
    """Connect to each bootstrap server with each login of the worker, all at once."""
    if subject.config is None:
        return
    trials = [
        (prefix, props, server.strip())
        for prefix, props in logins(subject.config).items()
        for server in props[BOOTSTRAP_SERVERS].split(",")
        if server.strip()
    ]
    late: _Failure = _late(_CONNECTION_S)
    tries = [partial(_failure, props, server) for _, props, server in trials]
    failures = call_all([TimedCall(each, _CONNECTION_S, late) for each in tries])
    for prefix in dict.fromkeys(trial[0] for trial in trials):
        of_login = {server: failure for (p, _, server), failure in zip(trials, failures, strict=True) if p == prefix}
        yield from server_findings(prefix, of_login)


def _failure(props: Mapping[str, str], server: str) -> _Failure:
    try:
        return connection_failure(props, server, TIMEOUT_S)
    except ConnectError as error:  # of keys and logins
        return error


def _late(seconds: float) -> ConnectionFailure:
    return ConnectionFailure(Step.NAME, f"no answer within {seconds:g} s")


def server_findings(prefix: str, failures: Mapping[str, _Failure]) -> Iterator[Finding]:
    """Return the findings about all servers with one login; a dead one among others that answer is a warning."""
    some_answer = None in failures.values()
    for server, failure in failures.items():
        name = f"{prefix}{BOOTSTRAP_SERVERS}: {server}" if prefix else server
        if failure is None:
            yield ok(f"{name} answers")
        elif isinstance(failure, ConnectError):
            yield problem(f"{name}: {failure}", "correct the property")
        else:
            found = f"{name}: {failure.step.value} failed: {failure.reason}"
            remedy = _remedy(failure)
            yield warning(f"{found}; other servers answer", remedy) if some_answer else problem(found, remedy)


def _remedy(failure: ConnectionFailure) -> str:
    if failure.speaks_tls:
        return "the port expects TLS: set security.protocol=SSL or SASL_SSL, and ssl.truststore.location"
    return _REMEDIES[failure.step]


def check_cluster(subject: Subject) -> Iterator[Finding]:
    """Describe the cluster: its requests, and the addresses to which it sends its clients."""
    if subject.config is None:
        return
    unreachable: tuple[Finding, ...] = ()
    try:
        queries = subject.kafka.queries(client_configs.admin(subject.config))
        unreachable = tuple(advertised_findings(queries.brokers()))
        yield cluster_finding(queries.cluster())
    except ConnectError as error:
        if not unreachable:
            yield warning(f"not checked: {error}", "repair what brokers reports first")
    yield from unreachable


def cluster_finding(cluster: Cluster) -> Finding:
    """Return the finding about the number of brokers and their requests."""
    version = ".".join(map(str, cluster.version))
    found = f"cluster {cluster.id}: {counted(len(cluster.brokers), 'broker')}, requests of Kafka {version}"
    missing = {use: [each for each in all if each not in cluster.requests] for use, all in _NEEDED_REQUESTS.items()}
    lacks = [f"{use} ({', '.join(each)})" for use, each in missing.items() if each]
    if lacks:
        return problem(f"{found}, without those for {', '.join(lacks)}", "upgrade the brokers")
    return ok(found)


def advertised_findings(brokers: Sequence[Broker]) -> Iterator[Finding]:
    """Try the addresses that brokers advertise, and return a finding for each that cannot be reached."""
    late: ConnectionFailure | None = _late(_ADVERTISED_S)
    tries = [partial(tcp_failure, broker.host, broker.port, _ADVERTISED_S) for broker in brokers]
    failures = call_all([TimedCall(each, _ADVERTISED_S + 1, late) for each in tries])
    for broker, failure in zip(brokers, failures, strict=True):
        if failure is not None:
            found = f"broker {broker.id} advertises {broker.host}:{broker.port}: {failure.step.value} failed"
            remedy = "clients are sent to this address: correct advertised.listeners, or this machine's DNS"
            yield problem(f"{found}: {failure.reason}", remedy)
