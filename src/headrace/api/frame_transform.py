# SPDX-License-Identifier: Apache-2.0
"""Transformations of whole batches, as Spark DataFrames."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Final, final

from headrace.api.errors import ConnectError
from headrace.api.frames import FrameJob
from headrace.api.transform import R, Transformation

VALUE_SCHEMA: Final = "value.schema"
"""The setting of a job that says, in Spark's DDL, as what type its function wants the column `value`."""


class FrameTransformation(Transformation[R]):
    """Changes a batch of records at a time, by a function of a DataFrame that runs in the worker.

    The function of `job` is given a frame with a row for each record and the columns `topic`, `partition`, `key`,
    `value`, `headers` and `timestamp`, in sinks `offset` too, and gives a frame whose rows are the records that go on:
    as many as it likes. Its plan must be a function of its input, for Spark may run parts of it twice.
    `headrace.api.record_frames` has the types of the columns, and what becomes of those that the result lacks.

    The offsets of a batch are committed with what its frame has become, even if that is nothing. What is asked of a
    transformation besides holds here too, but that it has no predicate: it can filter by itself.
    """

    @abstractmethod
    def job(self) -> FrameJob:
        """What is run with each batch; asked once, after `configure`."""

    def check(self) -> FrameJob | None:
        """A job that finds out whether `job` can be run, asked for after `configure`; None if there is none.

        Its function is given a batch without records, of which columns but `value` may have other types later, and
        raises. Its result is of no interest. It should start no Spark job itself: users wait for it.
        """
        return None

    def functions(self) -> Mapping[str, str]:
        """Functions of users, `module:function`, that the job calls, by the properties that name them.

        Asked after `configure`: they are looked for only where the worker may import plugins from.
        """
        return {}

    @final
    def apply(self, record: R) -> R | None:
        raise ConnectError(f"{type(self).__qualname__} transforms batches, not single records")
