# SPDX-License-Identifier: Apache-2.0
"""`make` asks here for what Spark, the broker and tests need beyond Python packages.

`prepare.py java` ends with 0 where a Java 17 or 21 is found; `prepare.py broker` fetches the broker, if need be;
`prepare.py spark` makes the archive of classes that lets Spark start faster; `prepare.py connect` fetches the jars of
Kafka Connect that processes with Java plugins have.
"""

from __future__ import annotations

import sys

from headrace.api.errors import ConnectError
from headrace.broker.broker_template import broker_template
from headrace.java.jvm import runtime_jars
from headrace.jvm.java_runtime import find_java
from headrace.spark.engine.class_archive import class_archive
from headrace.spark.engine.class_archive_maker import make_class_archive


def _main(what: str) -> None:
    if what == "java":
        find_java()
        return
    if what == "spark":
        if not class_archive().made:
            print("==> Starting Spark once to keep its classes (half a minute, once)", flush=True)
            make_class_archive()
        return
    fetched: list[str] = []
    if what == "connect":
        runtime_jars(lambda jar: _note(fetched, "Kafka Connect's", jar))
    else:
        broker_template(progress=lambda jar: _note(fetched, "Kafka's", jar))


def _note(fetched: list[str], whose: str, jar: str) -> None:
    if not fetched:
        print(f"==> Fetching {whose} jars into the user's cache (about 40, once)", flush=True)
    fetched.append(jar)


if __name__ == "__main__":
    try:
        _main(sys.argv[1])
    except ConnectError as error:
        sys.exit(f"Error: {error}")
