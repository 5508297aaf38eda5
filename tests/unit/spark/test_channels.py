# SPDX-License-Identifier: Apache-2.0
"""Both ends of a task channel."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import AuthenticationError, Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from headrace.api.errors import ConfigError, RetriableError
from headrace.kafka.errors import RetriableKafkaError
from headrace.model.health import Stage
from headrace.spark.channel.endpoint import Interface
from headrace.spark.channel.messages import Attach, Log, LogLevels
from headrace.spark.channel.task_channel import AttemptChannel, TaskChannels
from headrace.spark.process import channel_link
from headrace.spark.process.channel_link import ChannelLink, log_through
from headrace.task.task_protocol import (
    Answered,
    Asked,
    Command,
    ConfirmStart,
    Ended,
    Measured,
    Outcome,
    ReadOffsets,
    Refusal,
    Running,
    TopicsUsed,
    WriteOffsets,
)
from headrace.task.worker_link import TaskControl
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


def answering(there: Connection[Any, Any], *answers: Any) -> list[object]:
    """Answer as many requests; return the list of them, which grows."""
    requests: list[object] = []

    def answer() -> None:
        for given in answers:
            asked = there.recv()
            requests.append(asked.request)
            refused = isinstance(given, Refusal)
            there.send(Answered(asked.number, None if refused else given, given if refused else None))

    threading.Thread(target=answer).start()
    return requests


def test_confirming(pipe: Any) -> None:
    link, there = pipe
    unknown = Refusal("the config topic is away")
    requests = answering(there, True, False, unknown, Refusal("no ACL", for_good=True))
    assert link.ask(ConfirmStart()) is True
    assert link.ask(ConfirmStart()) is False
    with pytest.raises(RetriableKafkaError, match=r"^the worker could not find out whether the task may start: the "):
        link.ask(ConfirmStart())
    with pytest.raises(ConfigError, match=r"^no ACL$"):
        link.ask(ConfirmStart())
    assert requests == [ConfirmStart()] * 4


def test_offsets_that_could_not_be_read(pipe: Any) -> None:
    link, there = pipe
    answering(there, Refusal("the topic is away"))
    with pytest.raises(RetriableKafkaError, match=r"^source offsets could not be read: the topic is away$"):
        link.ask(ReadOffsets([{}]))


def test_each_thread_gets_the_answer_to_its_own_question(pipe: Any) -> None:
    """Whatever the order of the answers: eight requests are under way before the first is answered."""
    link, there = pipe
    got: dict[int, Any] = {}

    def answer() -> None:
        for _ in range(10):
            for asked in reversed([there.recv() for _ in range(8)]):
                there.send(Answered(asked.number, asked.request.partitions))

    def ask(n: int) -> None:
        got[n] = [link.ask(ReadOffsets([{"n": n}])) for _ in range(10)]

    threads = [threading.Thread(target=answer, daemon=True)]
    threads += [threading.Thread(target=ask, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert got == {n: [[{"n": n}]] * 10 for n in range(8)}


def test_an_unexpected_message_does_not_end_the_reader(pipe: Any, caplog: pytest.LogCaptureFixture) -> None:
    link, there = pipe
    there.send(Answered(4711))
    there.send("what is this?")
    there.send(Command.PAUSE)
    wait_for(lambda: link.control.paused, 5)
    assert [record.getMessage() for record in caplog.records] == [
        f"unknown message {Answered(4711)!r} from the worker",
        "unknown message 'what is this?' from the worker",
    ]


def test_commands(pipe: Any) -> None:
    link, there = pipe
    there.send(Command.PAUSE)
    wait_for(lambda: link.control.paused, 5)
    there.send(Command.RESUME)
    wait_for(lambda: not link.control.paused, 5)


def test_progress_is_measured_while_the_tasks_thread_is_busy(pipe: Any) -> None:
    link, there = pipe
    link.control.progress.enter(Stage.POLLING)
    there.send(Command.MEASURE)
    assert there.poll(10), "this thread, in the task's place, does nothing"
    measured = there.recv()
    assert isinstance(measured, Measured) and measured.progress.stage is Stage.POLLING


def until_running(there: Connection[Any, Any]) -> list[object]:
    """What is said before it."""
    said = []
    while (message := there.recv()) != Running():
        said.append(message)
    return said


def test_the_worker_hears_of_each_topic_once_until_it_was_made_to_forget_them(pipe: Any) -> None:
    link, there = pipe
    link.send(TopicsUsed(["a", "b"]))
    link.send(TopicsUsed(["b", "a"]))
    link.send(TopicsUsed(["b", "c"]))
    link.send(Running())
    assert until_running(there) == [TopicsUsed(["a", "b"]), TopicsUsed(["c"])]
    there.send(Command.FORGET_TOPICS)
    there.send(Command.PAUSE)  # taken in after the former
    wait_for(lambda: link.control.paused, 5)
    assert not there.poll(0.05), "nothing is reported before the next record"
    link.send(TopicsUsed(["b"]))
    link.send(TopicsUsed(["b"]))
    link.send(Running())
    assert until_running(there) == [TopicsUsed(["b"])]


def test_a_stop_that_hangs_does_not_block_the_reader(pipe: Any) -> None:
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
    link.send(Running())
    assert exits.codes == [1, 1]


def test_once_it_has_finished_a_broken_channel_is_ignored(pipe: Any, exits: Exits) -> None:
    link, there = pipe
    ended = Ended(Outcome.FAILED, "trace")
    link.finish(ended)
    assert isinstance(there.recv(), Measured), "the progress at the end"
    assert there.recv() == ended
    assert not there.poll(0.05), "it stays open while the process lives"
    there.close()
    link.send(Running())
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
        self.statuses: list[tuple[bool, int | None]] = []
        self.channels: dict[str, AttemptChannel] = {}
        self.heard: list[Any] = []
        self.last: object = None
        """If set, the answer to the end of an attempt, after which the channel is closed."""

    def __call__(self, channel: AttemptChannel, attach: Attach) -> None:
        self.channels[attach.key] = channel
        while (message := channel.receive()) is not None:
            self.heard.append(message)
            if self.last is not None and isinstance(message, Ended):
                channel.send(self.last)
                return
        self.statuses.append((channel.knows_exit_status, channel.exit_status()))


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
    connection.send(Asked(0, ConfirmStart()))
    assert not channel.closed.wait(0.05)
    connection.close()
    assert channel.closed.wait(5)
    assert attached.heard == [Running(), Asked(0, ConfirmStart())]
    channel.send(Command.STOP)
    channel.break_off()


@pytest.mark.parametrize(
    "pipes, written, status", [(2, b"\x03", (True, 3)), (2, b"", (True, None)), (1, b"", (False, None))]
)
def test_the_exit_status_of_a_process(
    socket_directory: Path, attached: Attached, pipes: int, written: bytes, status: tuple[bool, int | None]
) -> None:
    """From the second pipe that it hands over, even if a child of its has it open."""
    channels = TaskChannels(socket_directory, attached)
    channels.start()
    made = [os.pipe() for _ in range(pipes)]
    connection = channels.endpoint.connect()
    connection.send(Attach("k", 1, "h", prints=True))
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        socket.send_fds(same, [b"\0"], [reader for reader, _ in made])
    os.write(made[-1][1], written)
    connection.close()
    wait_for(lambda: attached.statuses == [status], 5, lambda: str(attached.statuses))
    assert attached.channels["k"].closed.wait(5)
    channels.stop()
    for pipe in (each for pair in made for each in pair):
        os.close(pipe)


def test_a_process_that_takes_nothing_blocks_no_sender(channels: TaskChannels, attached: Attached) -> None:
    connection, channel = attach(channels, attached)
    large = LogLevels({"x" * 50_000_000: logging.DEBUG})
    channel.send(large)
    channel.send(Command.STOP)
    assert connection.poll(5), "the first message does not arrive"
    assert (connection.recv(), connection.recv()) == (large, Command.STOP)
    channel.send(large)
    channel.break_off()
    assert channel.closed.wait(10), "what is not taken does not keep the channel open"


def test_the_last_messages_are_sent_before_a_channel_is_closed(channels: TaskChannels, attached: Attached) -> None:
    attached.last = Command.STOP
    connection, _ = attach(channels, attached)
    connection.send(Ended(Outcome.STOPPED))
    assert connection.recv() is Command.STOP
    with pytest.raises(EOFError):
        connection.recv()


def test_breaking_off_a_channel_ends_its_receiver(channels: TaskChannels, attached: Attached) -> None:
    connection, channel = attach(channels, attached)
    channel.break_off()
    assert channel.closed.wait(5)
    with pytest.raises(EOFError):
        connection.recv()


def test_a_connection_that_hangs_does_not_block_others_from_attaching(
    channels: TaskChannels, attached: Attached
) -> None:
    address = channels.endpoint.address
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as hanging:
        hanging.connect(address)
        attach(channels, attached)


def test_a_process_without_the_key_cannot_attach(channels: TaskChannels, attached: Attached) -> None:
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        replace(channels.endpoint, authkey=b"guessed").connect()
    attach(channels, attached, "other")
    assert set(attached.channels) == {"other"}


def test_offsets_that_the_worker_is_to_write(pipe: Any) -> None:
    link, there = pipe
    requests = answering(there, None, Refusal("the disk is full"))
    link.ask(WriteOffsets({b"k": b"v", b"gone": None}))
    with pytest.raises(RetriableError, match=r"^the disk is full$"):
        link.ask(WriteOffsets({b"k": b"v"}))
    assert requests == [WriteOffsets({b"k": b"v", b"gone": None}), WriteOffsets({b"k": b"v"})]
