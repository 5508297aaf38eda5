# SPDX-License-Identifier: Apache-2.0
"""Both ends of a task channel."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import AuthenticationError, Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import RetriableError
from headrace.kafka.errors import RetriableKafkaError
from headrace.spark.channel.endpoint import Interface
from headrace.spark.channel.messages import (
    Attach,
    Command,
    ConfirmStart,
    Done,
    Log,
    LogLevels,
    OffsetsRead,
    OffsetsWritten,
    ReadOffsets,
    Refused,
    Running,
    TopicsUsed,
    WriteOffsets,
)
from headrace.spark.channel.task_channel import AttemptChannel, TaskChannels
from headrace.spark.process import channel_link
from headrace.spark.process.channel_link import ChannelLink, log_through
from headrace.task.worker_link import TaskControl
from headrace.task.worker_task import Ended, Outcome
from tests.support.polling import wait_for


class Exits:
    """Takes the place of the end of this process."""

    def __init__(self) -> None:
        self.codes: list[int] = []

    def __call__(self, code: int) -> None:
        self.codes.append(code)


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> Exits:
    exits = Exits()
    monkeypatch.setattr(channel_link.os, "_exit", exits)
    return exits


@pytest.fixture
def pipe(exits: Exits) -> Iterator[tuple[ChannelLink, Connection[Any, Any]]]:
    """A listening link and its worker's end."""
    here, there = Pipe()
    link = ChannelLink(here, TaskControl())
    link.listen()
    yield link, there
    # From here on this process ends for real when the channel breaks, unless the attempt has finished.
    link.finish(Ended(Outcome.STOPPED))
    there.close()


def answering(there: Connection[Any, Any], *answers: object) -> threading.Thread:
    """Take one message for each answer; for a question about offsets the answer is the question."""

    def answer() -> None:
        for given in answers:
            asked = there.recv()
            there.send(OffsetsRead(asked.partitions) if isinstance(asked, ReadOffsets) else given)

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def test_confirming(pipe: Any) -> None:
    link, there = pipe
    answering(there, Command.GO, Command.ABANDON, Refused("the config topic is away"))
    assert link.confirm_start()
    assert not link.confirm_start()
    with pytest.raises(RetriableKafkaError, match="the config topic is away"):
        link.confirm_start()


def test_offsets_that_could_not_be_read(pipe: Any) -> None:
    link, there = pipe
    there.send(OffsetsRead((), "the topic is away"))
    with pytest.raises(RetriableKafkaError, match="source offsets could not be read: the topic is away"):
        link.read_offsets([{}])


def test_each_thread_gets_the_answer_to_its_own_question(pipe: Any) -> None:
    link, there = pipe
    got: dict[int, Any] = {}
    answering(there, *[None] * 80)

    def ask(n: int) -> None:
        got[n] = [link.read_offsets([{"n": n}]) for _ in range(10)]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert got == {n: [[{"n": n}]] * 10 for n in range(8)}


def test_commands(pipe: Any) -> None:
    link, there = pipe
    there.send(Command.PAUSE)
    wait_for(lambda: link.control.paused, 5)
    there.send(Command.RESUME)
    wait_for(lambda: not link.control.paused, 5)


def until_running(there: Connection[Any, Any]) -> list[object]:
    """What is said before it."""
    said = []
    while (message := there.recv()) != Running():
        said.append(message)
    return said


def test_the_worker_hears_of_each_topic_once_until_it_was_made_to_forget_them(pipe: Any) -> None:
    link, there = pipe
    link.report_topics_used(["a", "b"])
    link.report_topics_used(["b", "a"])
    link.report_topics_used(["b", "c"])
    link.report_running()
    assert until_running(there) == [TopicsUsed(["a", "b"]), TopicsUsed(["c"])]
    there.send(Command.FORGET_TOPICS)
    there.send(Command.PAUSE)  # taken in after the former
    wait_for(lambda: link.control.paused, 5)
    assert not there.poll(0.05), "nothing is told before the next record"
    link.report_topics_used(["b"])
    link.report_topics_used(["b"])
    link.report_running()
    assert until_running(there) == [TopicsUsed(["b"])]


def test_a_stop_that_hangs_does_not_close_the_ears(pipe: Any) -> None:
    link, there = pipe
    release = threading.Event()
    link.control.on_stop(lambda: release.wait(10) and None)
    there.send(Command.STOP)
    there.send(Command.PAUSE)
    wait_for(lambda: link.control.stopping and link.control.paused, 5)
    release.set()


def test_a_broken_channel_ends_the_process(pipe: Any, exits: Exits) -> None:
    link, there = pipe
    there.close()
    wait_for(lambda: exits.codes == [1], 5)
    link.report_running()
    assert exits.codes == [1, 1]


def test_once_it_has_finished_a_broken_channel_is_no_matter(pipe: Any, exits: Exits) -> None:
    link, there = pipe
    ended = Ended(Outcome.FAILED, "trace")
    link.finish(ended)
    assert there.recv() == Done(ended)
    assert not there.poll(0.05), "it stays open while the process lives"
    there.close()
    link.report_running()
    assert exits.codes == []


def test_log_lines(pipe: Any) -> None:
    link, there = pipe
    log = logging.getLogger("a.plugin")
    with log_through(link, {}):
        log.info("%s lines", 3)
        raised, logging.raiseExceptions = logging.raiseExceptions, False
        log.info("%d lines", "three")  # The plugin must not feel its mistake.
        logging.raiseExceptions = raised
        try:
            raise ValueError("why")
        except ValueError:
            log.exception("failed")
    assert there.recv() == Log("a.plugin", logging.INFO, "3 lines")
    assert there.recv().message.startswith("'%d lines' (this line cannot be made: TypeError: %d format")
    failed = there.recv()
    assert failed.message == "failed"
    assert failed.trace.startswith("Traceback") and failed.trace.endswith("ValueError: why")


def test_a_process_lets_through_what_its_worker_does(pipe: Any) -> None:
    link, there = pipe
    log = logging.getLogger("a.plugin.of.ours")
    with log_through(link, {"a.plugin": logging.ERROR}):
        log.warning("too much")
        log.error("first")
        there.send(LogLevels({"a.plugin": logging.DEBUG}))
        wait_for(lambda: log.isEnabledFor(logging.DEBUG), 5)
        log.debug("second")
    assert [there.recv().message for _ in range(2)] == ["first", "second"]


class Attached:
    def __init__(self) -> None:
        self.channels: dict[str, AttemptChannel] = {}
        self.heard: list[Any] = []

    def __call__(self, channel: AttemptChannel, attach: Attach) -> None:
        self.channels[attach.key] = channel
        while (message := channel.receive()) is not None:
            self.heard.append(message)


@pytest.fixture
def attached() -> Attached:
    return Attached()


@pytest.fixture(params=["socket", "tcp", "tls"])
def channels(request: pytest.FixtureRequest, socket_directory: Path, attached: Attached) -> Iterator[TaskChannels]:
    """Over all that a channel can go over."""
    network = Interface("localhost", "127.0.0.1", tls=request.param == "tls")
    made = TaskChannels(socket_directory if request.param == "socket" else network, attached)
    made.start()
    yield made
    made.stop()


def attach(channels: TaskChannels, attached: Attached, key: str = "k") -> tuple[Any, AttemptChannel]:
    connection = channels.endpoint.connect()
    connection.send(Attach(key, 1, "h"))
    return connection, wait_for(lambda: attached.channels.get(key), 5)


def test_a_channel_is_closed_when_its_process_is_gone_and_all_is_heard(
    channels: TaskChannels, attached: Attached
) -> None:
    connection, channel = attach(channels, attached)
    connection.send(Running())
    connection.send(ConfirmStart())
    assert not channel.closed.wait(0.05)
    connection.close()
    assert channel.closed.wait(5)
    assert attached.heard == [Running(), ConfirmStart()]
    assert not channel.send(Command.STOP)
    channel.break_off()


def test_breaking_off_wakes_who_receives(channels: TaskChannels, attached: Attached) -> None:
    connection, channel = attach(channels, attached)
    channel.break_off()
    assert channel.closed.wait(5)
    with pytest.raises(EOFError):
        connection.recv()


def test_who_hangs_while_attaching_keeps_nobody_out(channels: TaskChannels, attached: Attached) -> None:
    address = channels.endpoint.address
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as hanging:
        hanging.connect(address)
        attach(channels, attached)


def test_who_does_not_know_the_key_is_sent_away(channels: TaskChannels, attached: Attached) -> None:
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        replace(channels.endpoint, authkey=b"guessed").connect()
    attach(channels, attached, "other")
    assert set(attached.channels) == {"other"}


def test_offsets_that_the_worker_is_to_write(pipe: Any) -> None:
    link, there = pipe
    there.send(OffsetsWritten())
    link.write_offsets({b"k": b"v", b"gone": None})
    assert there.recv() == WriteOffsets({b"k": b"v", b"gone": None})
    there.send(OffsetsWritten("the disk is full"))
    with pytest.raises(RetriableError, match="the disk is full"):
        link.write_offsets({b"k": b"v"})
