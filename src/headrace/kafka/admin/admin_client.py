# SPDX-License-Identifier: Apache-2.0
"""An admin client with what Python's clients lack. Java: ``org.apache.kafka.clients.admin.Admin``.

It fences producers by their transactional ids, without making producers (KIP-618), and lists the open transactions of a
partition, which its read_committed readers wait for (KIP-664).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, Final

import kafka.errors as kafka_errors
from kafka import KafkaAdminClient, TopicPartition
from kafka.net.compat import KafkaNetClient
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest
from kafka.protocol.producer.transaction import InitProducerIdRequest

from headrace.api.errors import ConnectError
from headrace.kafka.clients.client_config import kafka_python_config
from headrace.kafka.errors import AuthorizationError, KafkaClientError, RetriableKafkaError
from headrace.model.backoff import ExponentialBackoff

_BACKOFF = ExponentialBackoff(0.005, 0.5)
_NO_PRODUCER = -1
_MAX_TRANSACTION_TIMEOUT_MS = 60_000
# UnknownError: a coordinator that stumbles when an init meets the end of the transaction that it fences.
_RETRIABLE = (
    kafka_errors.RetriableError,
    kafka_errors.UnknownBrokerIdError,
    kafka_errors.UnknownError,
    OSError,
)
FENCING_TIMEOUT: Final = 60.0
"""Seconds, for all producers together."""
_REQUEST_TIMEOUT_MS = 3_000


class AdminClient:
    """An admin client for workers, and for operators who fence a producer by hand. Thread-safe; holds no connection."""

    def __init__(self, props: Mapping[str, str]) -> None:
        """``props`` are Java's admin client properties: bootstrap.servers, security.protocol, sasl.*, ssl.* ..."""
        self._props = dict(props)

    def fence_producers(self, transactional_ids: Iterable[str], timeout: float = FENCING_TIMEOUT) -> FencedProducers:
        """Fence all producers with these transactional ids at once (KIP-618).

        An open transaction of theirs is aborted, and none of them can write any more (invariant 2). Blocks up to
        ``timeout`` seconds, which include brokers that are not available and transactions that are being ended. Raises
        nothing for an id that cannot be fenced: its result does, AuthorizationError for a principal without Write on
        the transactional id, RetriableError when the time is up.
        """
        return fence_producers(self._props, transactional_ids, timeout)


@dataclass(frozen=True, slots=True)
class _Fenced:
    producer_id: int
    epoch: int


class FencedProducers:
    """The outcome for each transactional id: earlier producers of a fenced one cannot write any more (invariant 2)."""

    def __init__(self, outcomes: Mapping[str, _Fenced | ConnectError]) -> None:
        self._outcomes = outcomes

    def fenced_producers(self) -> Mapping[str, ConnectError | None]:
        """Return each transactional id, with None where it was fenced, else with the error that prevented it."""
        return {id: outcome if isinstance(outcome, ConnectError) else None for id, outcome in self._outcomes.items()}

    def producer_id(self, transactional_id: str) -> int:
        """Return the id's producer id now. Raise its error if it could not be fenced."""
        return self._fenced(transactional_id).producer_id

    def epoch_id(self, transactional_id: str) -> int:
        """Return the id's producer epoch now; writers of smaller epochs are fenced. Raise as ``producer_id``."""
        return self._fenced(transactional_id).epoch

    def all(self) -> None:
        """Raise the first error unless all were fenced; a lasting error is preferred to a retriable one."""
        errors = [outcome for outcome in self._outcomes.values() if isinstance(outcome, ConnectError)]
        if errors:
            raise next((error for error in errors if not isinstance(error, RetriableKafkaError)), errors[0])

    def _fenced(self, transactional_id: str) -> _Fenced:
        outcome = self._outcomes[transactional_id]
        if isinstance(outcome, ConnectError):
            raise outcome
        return outcome


def fence_producers(props: Mapping[str, str], transactional_ids: Iterable[str], timeout: float) -> FencedProducers:
    """Fence all ids at once; blocks up to ``timeout`` seconds, also while brokers are not available.

    ``props`` are Java-style admin properties. An open transaction of an id is aborted. Errors come out of the result:
    AuthorizationError for a missing ACL, RetriableKafkaError when the time is up.
    """
    ids = tuple(dict.fromkeys(transactional_ids))
    if not ids:
        return FencedProducers({})
    deadline = time.monotonic() + timeout
    client = KafkaNetClient(**kafka_python_config(props))
    client._net.start()
    try:
        fencer = _Fencer(client, deadline)
        futures = {id: fencer.fence(id) for id in ids}
        wait(futures.values(), timeout=max(0.0, deadline - time.monotonic()) + 1.0)
        return FencedProducers({id: _outcome(id, future, timeout, fencer.trouble) for id, future in futures.items()})
    finally:
        client._net.stop()
        client.close()


def _outcome(id: str, future: Future[_Fenced], timeout: float, trouble: BaseException | None) -> _Fenced | ConnectError:
    what = f"Fencing the producers of transactional.id '{id}'"
    error: BaseException | None = future.exception() if future.done() else trouble
    if future.done() and error is None:
        return future.result()
    if not future.done() or isinstance(error, _RETRIABLE):
        because = f": {error}" if error is not None else ""
        return RetriableKafkaError(f"{what} was not done in {timeout:g} s{because}")
    if isinstance(error, kafka_errors.AuthorizationError | kafka_errors.SaslAuthenticationFailedError):
        return AuthorizationError(f"{what} is not allowed: {error}")
    return KafkaClientError(f"{what} failed: {error}")


class _Fencer:
    """Sends the requests, on kafka-python's event loop; ``fence`` may be called from any thread."""

    def __init__(self, client: Any, deadline: float) -> None:
        self._manager = client._manager
        self._net = client._net
        self._deadline = deadline
        self._bootstrap: Any = None
        self.trouble: BaseException | None = None

    def fence(self, id: str) -> Future[_Fenced]:
        result: Future[_Fenced] = Future()
        running = self._net.call_soon_with_future(self._fence, id)
        running.add_callback(result.set_result)
        running.add_errback(result.set_exception)
        return result

    async def _fence(self, id: str) -> _Fenced:
        pauses = _BACKOFF.pauses()
        while True:
            try:
                return await self._try(id)
            except _RETRIABLE as e:
                self.trouble = e
                pause = next(pauses)
                if time.monotonic() + pause >= self._deadline:
                    raise
                await self._net.sleep(pause)

    async def _try(self, id: str) -> _Fenced:
        if not self._manager.bootstrapped:
            await self._manager.bootstrap_async(self._left_ms(), refresh=False)
        node = await self._coordinator(id)
        request = InitProducerIdRequest(
            transactional_id=id,
            transaction_timeout_ms=min(self._left_ms(), _MAX_TRANSACTION_TIMEOUT_MS),
            producer_id=_NO_PRODUCER,
            producer_epoch=_NO_PRODUCER,
            max_version=4,
        )
        response = await self._manager.send(request, node_id=node)
        _raise_for(response.error_code)
        return _Fenced(response.producer_id, response.producer_epoch)

    async def _coordinator(self, id: str) -> Any:
        """Find the transaction coordinator, at every attempt: an error may mean that it has moved."""
        kind = CoordinatorType.TRANSACTION
        request = FindCoordinatorRequest(key=id, key_type=kind.value, max_version=3)
        response = await self._manager.send(request)
        return self._manager.cluster.add_coordinator(response, kind, id, synthesize_node_id=False)

    def _left_ms(self) -> int:
        return max(1, int((self._deadline - time.monotonic()) * 1000))


def _raise_for(error_code: int) -> None:
    error = kafka_errors.for_code(error_code)
    if error is not kafka_errors.NoError:
        raise error()


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has begun in a partition at ``start`` and not ended.

    ``transactional_id`` is None where no coordinator knows it, or none may be asked: the transaction may be hanging.
    """

    producer_id: int
    start: int
    transactional_id: str | None

    def __str__(self) -> str:
        name = f"transactional.id {self.transactional_id}" if self.transactional_id else "unknown transactional.id"
        return f"{name}, producer id {self.producer_id}, open from offset {self.start} on"


def open_transactions(props: Mapping[str, str], topic: str, partition: int) -> tuple[OpenTransaction, ...]:
    """Return the partition's open transactions, the oldest first. Blocks for some seconds at most.

    ``props`` are Java-style admin properties. kafka-python's errors are raised as they come: this serves messages only.
    """
    admin = KafkaAdminClient(**{**kafka_python_config(props), "request_timeout_ms": _REQUEST_TIMEOUT_MS})
    try:
        place = TopicPartition(topic, partition)
        producers = admin.describe_producers([place])[place].active_producers
        starts = {
            p.producer_id: p.current_transaction_start_offset
            for p in producers
            if p.current_transaction_start_offset >= 0
        }
        names = _names(admin, starts) if starts else {}
    finally:
        admin.close()
    found = [OpenTransaction(id, start, names.get(id)) for id, start in starts.items()]
    return tuple(sorted(found, key=lambda each: each.start))


def _names(admin: KafkaAdminClient, producer_ids: Mapping[int, int]) -> dict[int, str]:
    try:
        listed = admin.list_transactions(producer_id_filters=list(producer_ids))
    except Exception:  # not every principal has an ACL for transactional ids
        return {}
    return {each.producer_id: each.transactional_id for of_broker in listed.values() for each in of_broker}
