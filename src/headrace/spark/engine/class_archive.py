# SPDX-License-Identifier: Apache-2.0
"""An archive of the classes that Spark's JVM loads: with it, a worker's engine starts in half the time and CPU.

Made once for a Java and an installation of Spark, by ``class_archive_maker``; without it Spark only starts slower.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from headrace.jvm.java_runtime import JavaRuntime, find_java
from headrace.jvm.user_cache import cache_directory

ARCHIVE_FILE = "classes.jsa"
_HOME_FILE = "spark-home"
_TRAINING = 2
"""The version of the training run, raised when it changes, so that archives are made again."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The place of the archive for a Java and an installation of Spark, which may not be made yet."""

    directory: Path
    spark_home: Path

    @property
    def path(self) -> Path:
        return self.directory / ARCHIVE_FILE

    @property
    def jvm_options(self) -> tuple[str, ...]:
        """JVM options that use the archive; none while there is none. A JVM that it does not fit ignores it."""
        return (
            (f"-XX:SharedArchiveFile={self.path}", "-Xlog:cds*=off", "-Xlog:class+path=off")
            if self.path.exists()
            else ()
        )

    @property
    def made(self) -> bool:
        """True if it was made, even if the JVM could archive no classes: it is not tried again."""
        return self.directory.is_dir()

    def replaces(self, directory: Path, home: Path) -> bool:
        """Return True if ``directory`` has the archive of former jars of Spark, for the same version of Java."""
        java = self.directory.name.partition("-")[0]
        return home == self.spark_home and directory != self.directory and directory.name.startswith(f"{java}-")

    def note_owner(self, directory: Path) -> None:
        """Write the archive's installation of Spark into ``directory``, which becomes the archive's."""
        (directory / _HOME_FILE).write_text(str(self.spark_home), encoding="utf-8")


def class_archive(java: JavaRuntime | None = None) -> ClassArchive:
    """Return the archive for the Java and the Spark of this environment's workers. Starts nothing.

    Raises:
        NoJavaError: there is no Java 17 or 21.
    """
    from pyspark.find_spark_home import _find_spark_home

    java, home = java or find_java(), Path(_find_spark_home())
    release = java.home / "release"
    # The JVM compares them: an archive does not fit jars that were installed again into the same place.
    jars = [(str(jar), (of := jar.stat()).st_size, int(of.st_mtime)) for jar in sorted((home / "jars").glob("*.jar"))]
    identity = f"{_TRAINING} {java.home} {release.read_text() if release.exists() else ''} {jars}"
    name = f"java{java.major}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    return ClassArchive(_archives() / name, home)


def _archives() -> Path:
    return cache_directory() / "spark"


def remove_orphans(successor: ClassArchive | None = None) -> None:
    """Remove the archives of removed installations of Spark, and those that ``successor`` replaces."""
    for noted in _archives().glob(f"*/{_HOME_FILE}"):
        home = Path(noted.read_text(encoding="utf-8"))
        if not home.exists() or (successor is not None and successor.replaces(noted.parent, home)):
            shutil.rmtree(noted.parent, ignore_errors=True)
