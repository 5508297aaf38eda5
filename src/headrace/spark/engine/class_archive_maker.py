# SPDX-License-Identifier: Apache-2.0
"""Creation of the archive of the classes that Spark's JVM loads (``headrace prepare``)."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.api.errors import ConnectError
from headrace.jvm.user_cache import make_once
from headrace.spark.channel.endpoint import Endpoint
from headrace.spark.engine.class_archive import ARCHIVE_FILE, ClassArchive, class_archive, remove_orphans
from headrace.spark.engine.runtime_directory import RuntimeDirectory
from headrace.spark.engine.spark_process import SparkProcess
from headrace.spark.engine.spark_session import SparkJvm
from headrace.spark.engine.spark_settings import JAVA_OPTIONS, LOCAL, settings

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

_ARCHIVING_TIMEOUT_S: Final = 180.0


def make_class_archive() -> ClassArchive:
    """Make the archive unless it is there: Spark is started once, which takes about half a minute.

    Archives of installations that are gone are removed. Errors are those of ``find_java`` and ``make_once``.
    """
    archive = class_archive()
    if not archive.made:
        remove_orphans(archive)
        make_once(archive.directory, lambda target: _make(target, archive))
    return archive


def _make(target: Path, archive: ClassArchive) -> None:
    """Start Spark as a worker's, run a task's job and one on a frame; the JVM archives its classes at its end."""
    archive.note_owner(target)
    keep = f"{LOCAL[JAVA_OPTIONS]} {shlex.quote(f'-XX:ArchiveClassesAtExit={target / ARCHIVE_FILE}')} -Xlog:cds*=off"
    with RuntimeDirectory() as directory:
        directory.remove_others()
        within = directory.path
        conf = settings({JAVA_OPTIONS: keep}, within)
        try:
            spark = SparkJvm(SparkProcess(conf, within), conf, Endpoint("", b""))
            spark.frame_session().range(1, numPartitions=1).mapInArrow(_same, "id long").collect()
            spark.stop(_ARCHIVING_TIMEOUT_S)
        except ConnectError as error:
            log.warning("No class archive for Spark, which will start as slowly as before: %s", error)


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
