# SPDX-License-Identifier: Apache-2.0
"""Transformations of whole batches as Spark DataFrames. Not in Java."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Final, final

from headrace.api.errors import ConnectError
from headrace.api.frames import FrameJob
from headrace.api.transform import R, Transformation

VALUE_SCHEMA: Final = "value.schema"
"""The job setting with the type that its function wants for the column `value`, in Spark's DDL."""


class FrameTransformation(Transformation[R]):
    """A transformation that changes a batch of records at a time, by a function of a DataFrame in the worker.

    The function of `job` is given a frame with one row per record and the columns `topic`, `partition`, `key`, `value`,
    `headers` and `timestamp`, in sinks also `offset`. It returns a frame of any number of rows, which become the
    records that are passed on. Its plan must be a pure function of its input, since Spark may run parts of it twice.
    `headrace.api.record_frames` documents the columns' types, and the defaults for columns missing in the result.

    The offsets of a batch are committed together with the result of its frame, even if that is empty. The contract is
    otherwise that of `Transformation`, except that a predicate cannot be set: the function can filter by itself.
    """

    @abstractmethod
    def job(self) -> FrameJob:
        """Return the job to run with each batch. Called once, after `configure`."""

    def check(self) -> FrameJob | None:
        """Return a job that checks whether `job` can run; None for no check. Called after `configure`.

        The job's function is given a batch without records, in which all columns but `value` may have other types than
        later, and raises if it finds an error. Its result is ignored. It should start no Spark job, since users wait
        for it.
        """
        return None

    def functions(self) -> Mapping[str, str]:
        """Return the users' functions that the job calls, as `module:function`, by the properties that name them.

        Called after `configure`. The worker imports them only from modules that plugins may come from.
        """
        return {}

    @final
    def apply(self, record: R) -> R | None:
        """Raise ConnectError: this transformation has no single records."""
        raise ConnectError(f"{type(self).__qualname__} transforms batches, not single records")
