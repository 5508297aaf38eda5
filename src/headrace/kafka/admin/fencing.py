# SPDX-License-Identifier: Apache-2.0
"""Fencing of producers by their transactional ids, without making producers. Java: ``Admin.fenceProducers``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

import kafka.errors as kafka_errors
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
    """Fence all ids at once; blocks up to ``timeout`` seconds, also while brokers are away or transactions are ended.

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
