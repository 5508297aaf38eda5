# SPDX-License-Identifier: Apache-2.0
"""`headrace topics`: the topics that connectors use, and their records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

import typer

from headrace.cli.ctl.command import OptionalConnector, Session, command, connector_names
from headrace.cli.ctl.ctl_error import ArgumentError, CtlError, ExitCode
from headrace.cli.ctl.following import Follower, NoAnswerTimeout
from headrace.cli.ctl.output import View
from headrace.cli.ctl.record_lines import print_record
from headrace.cli.ctl.rest_api import path
from headrace.cli.ctl.statuses import NONE, Json, bytes_text

topics = typer.Typer(name="topics", help="The topics that connectors use, and their records.", no_args_is_help=True)

_MOST: Final = 1000
_WAIT_S: Final = 20
_HEADINGS: Final = ("TOPIC", "CONNECTOR", "DIRECTION", "PARTITIONS", "RECORDS", "SIZE")

Decoding = Literal["connector", "text", "json"]
Topic = Annotated[str, typer.Argument(help="A topic that a connector uses.", show_default=False)]
Count = Annotated[int, typer.Option("-n", "--lines", min=0, max=_MOST, help="Number of records.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Continue with new records, until Ctrl-C.")]
By = Annotated[
    str | None,
    typer.Option(
        "--connector",
        help="The connector whose converters decode the records.",
        show_default=False,
        autocompletion=connector_names,
    ),
]
Partition = Annotated[int | None, typer.Option(min=0, help="This partition alone.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="A line of JSON for each record.")]
Raw = Annotated[bool, typer.Option("--raw", help="Bytes as they are in Kafka, without decoding.")]


Decode = Annotated[Decoding, typer.Option(help="The converters: the connector's, or others that read text or JSON.")]


@command(topics, "ls", "headrace topics ls", "headrace topics ls orders -o json", output=True)
def list_topics(
    session: Session,
    connector: OptionalConnector = None,
) -> None:
    """List the topics that connectors use. The number of records is that of offsets, markers included.

    The size is that of one replica on the disks of brokers, where the worker may describe the cluster.
    """
    session.check_headrace("headrace topics")
    names = sorted(session.api.get("/connectors")) if connector is None else [connector]
    found = [{"connector": name, **topic} for name in names for topic in _statistics(session, name)]
    rows = [
        (
            each["topic"],
            each["connector"],
            each["direction"],
            NONE if each["partitions"] is None else str(each["partitions"]),
            each.get("error", NONE) if each["records"] is None else str(each["records"]),
            bytes_text(each.get("bytes")),
        )
        for each in sorted(found, key=lambda each: (each["topic"], each["connector"]))
    ]
    session.show(View(found, sorted({row[0] for row in rows}), _HEADINGS, rows))


@command(topics, "head", "headrace topics head orders", "headrace topics head orders -n 100 --json > orders.json")
def head(
    session: Session,
    topic: Topic,
    connector: By = None,
    n: Count = 10,
    follow: Follow = False,
    partition: Partition = None,
    from_offset: Annotated[
        int | None, typer.Option(min=0, help="Begin at this offset of each partition.", show_default=False)
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            help="Begin with the records of this time, as 2026-06-01T08:00:00Z, and later.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    raw: Raw = False,
    decode: Decode = "connector",
    no_answer_timeout: NoAnswerTimeout = None,
) -> None:
    """Show the first records of a topic, as its connector's converters decode them."""
    if since is not None and from_offset is not None:
        raise ArgumentError("--since and --from-offset both say where to begin", remedy="Leave one of them out")
    begin = since or ("begin" if from_offset is None else str(from_offset))
    follower = Follower(session, no_answer_timeout) if follow else None
    _show(_Reader(session, topic, connector, partition, raw=raw, decode=decode), begin, n, follower, as_json)


@command(topics, "tail", "headrace topics tail orders -f", "headrace topics tail orders --connector sink --partition 0")
def tail(
    session: Session,
    topic: Topic,
    connector: By = None,
    n: Count = 10,
    follow: Follow = False,
    partition: Partition = None,
    as_json: AsJson = False,
    raw: Raw = False,
    decode: Decode = "connector",
    no_answer_timeout: NoAnswerTimeout = None,
) -> None:
    """Show the last records of a topic, as its connector's converters decode them."""
    follower = Follower(session, no_answer_timeout) if follow else None
    _show(_Reader(session, topic, connector, partition, raw=raw, decode=decode), "tail", n, follower, as_json)


class _Reader:
    """Requests for the records of a topic."""

    def __init__(
        self,
        session: Session,
        topic: str,
        connector: str | None,
        partition: int | None,
        *,
        raw: bool,
        decode: Decoding,
    ) -> None:
        session.check_headrace("headrace topics")
        self._api = session.api
        self._path = path("connectors", connector or _connector_of(session, topic), "topics", topic, "records")
        self._params: Json = {
            "raw": raw,
            **({} if partition is None else {"partition": partition}),
            **({} if decode == "connector" else {"decode": decode}),  # a worker of a former version has none
        }

    def read(self, begin: str, limit: int, wait: int = 0) -> Json:
        params = {"from": begin, "limit": limit, "wait": wait, **self._params}
        found: Json = self._api.send("GET", self._path, params=params)
        return found


def _show(reader: _Reader, begin: str, count: int, follower: Follower | None, as_json: bool) -> None:
    with suppress(KeyboardInterrupt):
        found = reader.read(begin if count else "end", count or 1)
        left = count
        while True:
            for record in found["records"]:
                print_record(record, as_json)
            left -= len(found["records"])
            if begin == "tail" or left <= 0 or found["at_end"]:
                break
            found = reader.read(found["positions"], left)
        while follower is not None:
            begin = found["positions"]
            found = follower.ask(lambda begin=begin: reader.read(begin, _MOST, _WAIT_S))  # type: ignore[misc]
            for record in found["records"]:
                print_record(record, as_json)


def _statistics(session: Session, connector: str) -> list[Json]:
    found: list[Json] = session.api.get(path("connectors", connector, "topics", "statistics"))["topics"]
    return found


def _connector_of(session: Session, topic: str) -> str:
    """Return the only source that writes the topic, or else the only connector that uses it. Raise CtlError."""
    users = list(_users(session, topic))
    sources = [name for name, kind in users if kind == "source"]
    found = sources if len(sources) == 1 else [name for name, _ in users]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CtlError(
            f"No connector is known to use topic {topic}",
            ExitCode.NOT_FOUND,
            "Name one with --connector; see: headrace topics ls",
        )
    raise ArgumentError(f"Topic {topic} is used by {', '.join(found)}", remedy="Name one of them with --connector")


def _users(session: Session, topic: str) -> Iterator[tuple[str, str]]:
    for name, known in sorted(session.api.get("/connectors", expand="info").items()):
        info: Any = known.get("info", {})
        configured = [each.strip() for each in (info.get("config", {}).get("topics") or "").split(",")]
        if topic in configured and info.get("type") == "sink":
            yield name, "sink"
        elif topic in session.api.get(path("connectors", name, "topics"))[name]["topics"]:
            yield name, info.get("type") or NONE
