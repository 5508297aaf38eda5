# SPDX-License-Identifier: Apache-2.0
"""Committed offsets of consumer groups, read and changed from outside while the groups have no members."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from headrace.api.errors import ConnectError, DataError
from headrace.api.sink import TopicPartition
from headrace.kafka.clients import client_config
from headrace.kafka.errors import AuthorizationError, KafkaClientError, RetriableKafkaError, connect_error, kafka_error

_T = TypeVar("_T")
_TIMEOUT: Final = 30.0
_BACKOFF: Final = 0.1
_ACTIVE: Final = frozenset(
    {
        KafkaError.NON_EMPTY_GROUP,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.GROUP_SUBSCRIBED_TO_TOPIC,
        KafkaError.FENCED_MEMBER_EPOCH,
    }
)


class ActiveGroupError(RetriableKafkaError):
    """The group has members, so its offsets are theirs; the message names them."""


class ConsumerGroups:
    """An admin client for groups. Every method blocks, up to the client's request timeout or a little more.

    Errors are RetriableError where trying again can help (ActiveGroupError among them), DataError for partitions that
    do not exist, else ConnectError.
    """

    def __init__(self, props: Mapping[str, str]) -> None:
        """``props`` are Java's properties of an admin client."""
        self._props = props
        self._client = client_config.admin_client(props)
        self._timeout = int(props.get("request.timeout.ms", _TIMEOUT * 1000)) / 1000

    def offsets(self, group: str) -> dict[TopicPartition, int]:
        """Return the group's committed offset of each partition; empty for a group that does not exist.

        Through kafka-python: librdkafka's admin client ends the whole process, by a segmentation fault, where the
        group's coordinator moves or is not there yet.
        """
        doing = f"reading the offsets of group '{group}'"
        found: dict[Any, Any] = self._by_kafka_python(lambda client: client.list_group_offsets(group)[group], doing, {})
        return {TopicPartition(*where): each.offset for where, each in found.items() if each.offset >= 0}

    def alter_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit ``offsets`` for the group. A group that does not exist is made."""
        if not offsets:
            return
        self._check_empty(group)
        positions = [Position(where.topic, where.partition, offset) for where, offset in offsets.items()]
        doing = f"altering the offsets of group '{group}'"
        asked = [ConsumerGroupTopicPartitions(group, positions)]
        altered = self._result(
            lambda: self._client.alter_consumer_group_offsets(asked, request_timeout=self._timeout)[group],
            doing,
        )
        for each in altered.topic_partitions or ():
            if each.error is not None:
                raise _error(each.error, f"{doing} in {each.topic}-{each.partition}")

    def delete_offsets(self, group: str, partitions: Collection[TopicPartition]) -> None:
        """Delete the group's offsets of these partitions, through kafka-python: confluent-kafka cannot."""
        if not partitions:
            return
        from kafka import TopicPartition as KafkaTopicPartition  # slow to import

        self._check_empty(group)
        wanted = [KafkaTopicPartition(*each) for each in partitions]
        doing = f"deleting offsets of group '{group}'"
        outcomes: dict[Any, Any] = self._by_kafka_python(
            lambda client: client.delete_group_offsets(group, wanted), doing, {}
        )
        if (failed := next((error for error in outcomes.values() if error.errno), None)) is not None:
            raise _kafka_python_error(failed(), doing)

    def delete_group(self, group: str) -> None:
        """Delete the group if it exists."""
        doing = f"deleting group '{group}'"
        try:
            self._result(
                lambda: self._client.delete_consumer_groups([group], request_timeout=self._timeout)[group], doing
            )
        except ActiveGroupError:
            self._check_empty(group)
            raise
        except ConnectError as error:
            if not _is_unknown_group(error):
                raise

    def remove_members(self, group: str, client_id: str) -> int:
        """Remove the members with that ``client.id`` and return their number: they can commit nothing any more.

        Needs no more rights than they have. Members of KIP-848's kind cannot be removed and are left alone.
        """
        members = [member.member_id for member in self._members(group) if member.client_id == client_id]
        if not members:
            return 0
        from kafka.admin import MemberToRemove  # slow to import

        asked = [MemberToRemove(member_id=member) for member in members]
        doing = f"removing former members of group '{group}'"
        outcomes: dict[Any, Any] = self._by_kafka_python(
            lambda client: client.remove_group_members(group, asked), doing, {}
        )
        return sum(not outcome.errno for outcome in outcomes.values())

    def _members(self, group: str) -> Sequence[Any]:
        try:
            found = self._result(
                lambda: self._client.describe_consumer_groups([group], request_timeout=self._timeout)[group],
                f"describing group '{group}'",
            )
        except ConnectError as error:
            if _is_unknown_group(error):
                return ()
            raise
        return found.members or ()

    def _check_empty(self, group: str) -> None:
        """Raise ActiveGroupError if the group has members; it names them, for operators to find the process."""
        members = self._members(group)
        if members:
            named = ", ".join(f"{member.client_id} at {member.host} ({member.member_id})" for member in members)
            raise ActiveGroupError(
                f"Group '{group}' has {len(members)} active member(s), which must have left before its offsets "
                f"can be changed: {named}"
            )

    def _result(self, ask: Callable[[], Future[_T]], doing: str) -> _T:
        """Return the result of ``ask``; repeat it while a coordinator moves, or is not there yet for a new group."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return ask().result(self._timeout + 5)
            except FutureTimeoutError as error:
                raise RetriableKafkaError(f"{doing} timed out") from error
            except KafkaException as error:
                failure = _error(error, doing)
                passes = isinstance(failure, RetriableKafkaError) and not isinstance(failure, ActiveGroupError)
                if not passes or time.monotonic() + _BACKOFF > deadline:
                    raise failure from error
                time.sleep(_BACKOFF)

    def _by_kafka_python(self, ask: Callable[[Any], _T], doing: str, no_group: _T) -> _T:
        """Return what ``ask`` returns of an admin client of kafka-python, ``no_group`` if the group does not exist.

        Repeat it as ``_result`` does.
        """
        # Slow to import, and seldom needed; nor may Spark's thread import it beside the main thread.
        import kafka.errors as kafka_errors
        from kafka.admin import KafkaAdminClient

        deadline = time.monotonic() + self._timeout
        while True:
            try:
                client = KafkaAdminClient(**client_config.kafka_python_config(self._props))
                try:
                    return ask(client)
                finally:
                    client.close()
            except kafka_errors.GroupIdNotFoundError:
                return no_group
            except kafka_errors.KafkaError as error:
                failure = _kafka_python_error(error, doing)
                passes = isinstance(failure, RetriableKafkaError) and not isinstance(failure, ActiveGroupError)
                if not passes or time.monotonic() + _BACKOFF > deadline:
                    raise failure from error
                time.sleep(_BACKOFF)


def _is_unknown_group(error: ConnectError) -> bool:
    cause = kafka_error(error.__cause__) if error.__cause__ else None
    return cause is not None and cause.code() == KafkaError.GROUP_ID_NOT_FOUND


def _error(error: BaseException | KafkaError, doing: str) -> ConnectError:
    cause = kafka_error(error)
    if cause is not None and cause.code() in _ACTIVE:
        return ActiveGroupError(f"{doing} is not possible while the group has active members: {cause.str()}")
    if cause is not None and cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return DataError(f"{doing} failed: there is no such topic or partition")
    return connect_error(error, doing)


def _kafka_python_error(error: Any, doing: str) -> ConnectError:
    import kafka.errors as kafka_errors

    message = f"{doing} failed: {error}"
    if isinstance(error, kafka_errors.NonEmptyGroupError | kafka_errors.GroupSubscribedToTopicError):
        return ActiveGroupError(f"{doing} is not possible while the group has active members: {error}")
    if isinstance(error, kafka_errors.UnknownTopicOrPartitionError):
        return DataError(f"{doing} failed: there is no such topic or partition")
    if isinstance(error, kafka_errors.AuthorizationError | kafka_errors.SaslAuthenticationFailedError):
        return AuthorizationError(message)
    return RetriableKafkaError(message) if getattr(error, "retriable", False) else KafkaClientError(message)
