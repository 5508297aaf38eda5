# SPDX-License-Identifier: Apache-2.0
"""A tap of Singer that reads a whole table in each run, and says by versions which rows are there.

Configuration: `table`, the path of a JSON file, which is read again in each run. It has `rows`, which are objects with
`id`, and may have: `version`, by default the present time; `activate` as `after`, `before` or `both` the rows; `state`
false for no STATE at the end; `batch`, a STATE after so many rows; `end`, an exit code after the rows; `slow` seconds
after each; and another `schema` and `keys`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

ROW = {"type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": ["null", "string"]}}}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--config", "--state"):
        parser.add_argument(option, type=Path)
    config = json.loads(parser.parse_args().config.read_text())
    table = json.loads(Path(config["table"]).read_text())
    version, activate = table.get("version", time.time_ns() // 1000), table.get("activate", "after")
    send(type="SCHEMA", stream="rows", schema=table.get("schema", ROW), key_properties=table.get("keys", ["id"]))
    activation = {"type": "ACTIVATE_VERSION", "stream": "rows", "version": version}
    if activate != "after":
        send(**activation)
    for number, row in enumerate(table["rows"], 1):
        send(type="RECORD", stream="rows", record=row, version=version)
        if "slow" in table:
            sys.stdout.flush()
            time.sleep(table["slow"])
        if "batch" in table and number % table["batch"] == 0:
            send(type="STATE", value={"version": version, "rows": number})
    sys.stdout.flush()
    if table.get("end"):
        sys.exit(table["end"])
    if activate != "before":
        send(**activation)
    if table.get("state", True):
        send(type="STATE", value={"version": version})
    sys.stdout.flush()


main()
