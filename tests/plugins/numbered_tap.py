# SPDX-License-Identifier: Apache-2.0
"""A tap of Singer that counts, and has bad habits on request. A program of its own, of the standard library alone.

Configuration: `count` numbers from 0 on, a STATE after each `batch` of them, and then `pause` seconds; `slow` seconds
after each number; `state_at_end` false for none there; `version` of the table, which is
activated at the end; `metrics` true for METRIC lines; `habit` as below; `streams` to discover.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_LARGE = 50 << 20


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")


def schema(stream: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"n": {"type": "integer"}, "stream": {"type": ["null", "string"]}}}


def count(config: dict[str, Any], stream: str, first: int) -> None:
    send(type="SCHEMA", stream=stream, schema=schema(stream), key_properties=["n"])
    batch, last = config.get("batch", 10), config["count"] - 1
    version = {"version": config["version"]} if "version" in config else {}
    for n in range(first, last + 1):
        send(type="RECORD", stream=stream, record={"n": n, "stream": stream}, **version)
        if "slow" in config:
            sys.stdout.flush()
            time.sleep(config["slow"])
        if n % batch == batch - 1 or (n == last and config.get("state_at_end", True)):
            send(type="STATE", value={"bookmarks": {stream: n}})
            sys.stdout.flush()
            time.sleep(config.get("pause", 0))
        if config.get("die_at") == n and Path(config["once"]).exists():
            Path(config["once"]).unlink()
            sys.stdout.flush()
            sys.exit("the database has gone away")
    if version:
        send(type="ACTIVATE_VERSION", stream=stream, **version)
        send(type="STATE", value={"bookmarks": {stream: last}})
    if config.get("metrics"):
        point = {"type": "counter", "metric": "record_count", "value": last + 1 - first, "tags": {"stream": stream}}
        print(f"INFO METRIC: {json.dumps(point)}", file=sys.stderr, flush=True)
    sys.stdout.flush()


def indulge(habit: str) -> None:
    match habit:
        case "garbage":
            sys.stdout.buffer.write(b"\xff\xfe not a message\n")
        case "prints":
            print("Connected to the database")
        case "warns":
            print("WARNING few numbers are left", file=sys.stderr)
        case "endless":
            print("waiting", file=sys.stderr, flush=True)
            time.sleep(3600)
        case "flood":
            for line in range(200_000):
                print(f"flood {line}", file=sys.stderr)
        case "fork":
            # In a session of its own, with our pipes.
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
        case "long line":
            sys.stdout.write("x" * _LARGE + "\n")
        case "dies":
            sys.exit("no such database")
        case "killed":
            os.kill(os.getpid(), 9)
        case "batch":
            send(type="BATCH", stream="numbers", manifest=[])
        case "no schema":
            send(type="RECORD", stream="others", record={})
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--config", "--catalog", "--state"):
        parser.add_argument(option, type=Path)
    parser.add_argument("--discover", action="store_true")
    given = parser.parse_args()
    config = json.loads(given.config.read_text())
    streams = config.get("streams", ["numbers"])
    indulge(config.get("habit", ""))
    if given.discover:
        if config.get("habit") == "undiscoverable":
            sys.exit("it cannot discover")
        known = [{"tap_stream_id": each, "stream": each, "schema": schema(each), "metadata": []} for each in streams]
        print(json.dumps({"streams": known}, indent=1))
        return
    if given.catalog:
        chosen = [
            each["tap_stream_id"] for each in json.loads(given.catalog.read_text())["streams"] if each["selected"]
        ]
        streams = [each for each in streams if each in chosen]
    places = json.loads(given.state.read_text())["bookmarks"] if given.state else {}
    for stream in streams:
        count(config, stream, places.get(stream, -1) + 1)


main()
