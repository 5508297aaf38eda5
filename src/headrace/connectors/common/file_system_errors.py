# SPDX-License-Identifier: Apache-2.0
"""Errors of Hadoop's file systems, as errors of the property that names a path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from headrace.api.errors import ConfigError
from headrace.connectors.common.spark_reader import attribute_errors_to

_UNKNOWN: Final = ("UnsupportedFileSystemException", "ClassNotFoundException")
_REFUSED: Final = ("AccessControlException", "AccessDeniedException", "URISyntaxException", "UnknownStoreException")
_PACKAGES: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws:{hadoop}",
    "abfs": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "abfss": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:<a version for Hadoop {hadoop}>",
}


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
