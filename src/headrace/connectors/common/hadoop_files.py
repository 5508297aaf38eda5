# SPDX-License-Identifier: Apache-2.0
"""Files of any file system that Hadoop supports, such as HDFS and object stores, and their errors. In the worker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote, urlparse

from headrace.api.errors import ConfigError, RetriableError
from headrace.connectors.common.batch_log import Files
from headrace.connectors.common.local_files import LocalFiles
from headrace.connectors.common.spark_reader import attribute_errors_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_UNKNOWN: Final = ("UnsupportedFileSystemException", "ClassNotFoundException")
_REFUSED: Final = ("AccessControlException", "AccessDeniedException", "URISyntaxException", "UnknownStoreException")
_PACKAGES: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws:{hadoop}",
    "abfs": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "abfss": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:<a version for Hadoop {hadoop}>",
}


def files_of(spark: SparkSession, root: str) -> Files:
    """Return the file system of `root`. Raise RetriableError if it cannot be reached."""
    files = HadoopFiles(spark, root)
    uri = urlparse(files.root)
    return LocalFiles(Path(unquote(uri.path))) if uri.scheme == "file" else files


class HadoopFiles:
    """`batch_log.Files` over Hadoop. As safe against two writers as the file system's rename.

    HDFS never replaces a file by a rename; most object stores do.
    """

    def __init__(self, spark: Any, root: str) -> None:
        """``spark`` is the SparkSession whose JVM is called."""
        jvm = spark._jvm
        self._jvm = jvm
        hadoop = jvm.org.apache.hadoop.fs
        configuration = spark._jsc.hadoopConfiguration()
        self._rename = hadoop.Options.Rename
        self._no_options = spark.sparkContext._gateway.new_array(self._rename, 0)
        self._overwriting = spark.sparkContext._gateway.new_array(self._rename, 1)
        self._overwriting[0] = self._rename.OVERWRITE

        def reach() -> tuple[Any, Any, Any]:
            path = hadoop.Path(root)
            system = path.getFileSystem(configuration)
            return system, system.makeQualified(path), hadoop.FileContext.getFileContext(system.getUri(), configuration)

        self._system, self._root, self._context = self._run("reached", root, reach)

    @property
    def root(self) -> str:
        """The root as a URI."""
        return str(self._root.toUri().toString())

    def names(self, directory: str) -> list[str]:
        def listed() -> list[str]:
            path = self._path(directory)
            if not self._system.exists(path):
                return []
            return [status.getPath().getName() for status in self._system.listStatus(path)]

        return self._run("listed", directory, listed)

    def tree(self, directory: str) -> list[str]:
        def listed() -> list[str]:
            path = self._path(directory)
            below = len(self._system.makeQualified(path).toString()) + 1
            found, paths = self._system.listFiles(path, True), []
            while found.hasNext():
                paths.append(found.next().getPath().toString()[below:])
            return paths

        return self._run("listed", directory, listed)

    def read(self, path: str) -> str:
        def text() -> str:
            stream = self._system.open(self._path(path))
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

        return self._run("read", path, text)

    def create(self, path: str, text: str) -> bool:
        directory = path.rpartition("/")[0]
        draft = self._path(f"{directory}/files-{uuid.uuid4().hex}.draft")

        def created() -> bool:
            stream = self._system.create(draft, False)
            stream.write(bytearray(text.encode()))
            stream.close()
            try:
                self._context.rename(draft, self._path(path), self._no_options)
            except Exception as error:
                self._system.delete(draft, False)
                if "FileAlreadyExists" in str(error):
                    return False
                raise
            return True

        return self._run("made", path, created)

    def move(self, source: str, target: str) -> bool:
        def moved() -> bool:
            to = self._path(target)
            self._system.mkdirs(to.getParent())
            try:
                self._context.rename(self._path(source), to, self._overwriting)
            except Exception as error:
                if "FileNotFoundException" in str(error):
                    return False
                raise
            return True

        return self._run("moved", source, moved)

    def delete(self, path: str) -> None:
        self._run("deleted", path, lambda: self._system.delete(self._path(path), True))

    def sync(self, paths: Sequence[str]) -> None:
        """Do nothing: closed files are as durable as these file systems make them."""

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, path) if path else self._root

    def _run(self, what: str, path: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except Exception as error:
            raise RetriableError(f"{path} cannot be {what}: {_java_message(error)}") from error


def _java_message(error: Exception) -> str:
    """Return a Java error's message; its first line only names the failed call."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[1].removeprefix(": ") if len(lines) > 1 else lines[0]


@contextmanager
def attribute_file_errors_to(spark: Any, property: str, place: str) -> Iterator[None]:
    """Raise ConfigError of ``property`` for errors within that are not retriable; others stay as they are.

    A validation ignores those, for a task tries again.
    """
    try:
        with attribute_errors_to(property, place):
            yield
    except ConfigError:
        raise
    except Exception as error:
        text = str(error)
        if any(name in text for name in _UNKNOWN):
            scheme = place.partition(":")[0]
            package = _PACKAGES.get(scheme, "which its documentation names")
            hadoop = spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
            raise ConfigError.invalid(
                property,
                place,
                f"Hadoop has no file system for {scheme}; add its package to the worker's spark.jars.packages, such "
                f"as {package.format(hadoop=hadoop)}",
            ) from error
        if any(name in text for name in _REFUSED):
            raise ConfigError.invalid(property, place, " ".join(_message(error).split())) from error
        raise


def _message(error: Any) -> str:
    java = getattr(error, "java_exception", None)
    return str(error) if java is None else str(java.toString())
