# SPDX-License-Identifier: Apache-2.0
"""A step on frames in a chain that tolerates errors (KIP-298): finds the records that fail, and skips them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.api.errors import DataError
from headrace.config.connector_config import PluginStage
from headrace.plugins.builtin import PluginKind
from headrace.plugins.discovery import Plugins
from headrace.task.errors.processing_context import O, Operation, Stage
from headrace.task.errors.retry_with_tolerance import RetryWithTolerance

if TYPE_CHECKING:
    from headrace.task.frames.frame_step import FrameStep

B = TypeVar("B", bound=Sized)


class TolerantStep(Generic[B]):
    """A batch that fails is tried again in halves, and these in halves, down to the record that fails by itself.

    One in a thousand costs twenty jobs more. Task's thread only.
    """

    def __init__(self, step: FrameStep[B], skip: Callable[[B, DataError], None]) -> None:
        """``skip`` is given a batch of one record, and raises where that cannot be tolerated."""
        self._step = step
        self._skip = skip

    def apply(self, batch: B) -> list[B]:
        """What the batch becomes without those that fail, in order. Other errors are ``FrameStep.apply``'s."""
        try:
            return self._step.apply(batch)
        except DataError as error:
            if len(batch) == 1:
                self._skip(batch, error)
                return []
        first, rest = _halves(batch)
        return [*self.apply(first), *self.apply(rest)]

    def close(self) -> None:
        self._step.close()


def skipping(
    stage: PluginStage, plugins: Plugins, errors: RetryWithTolerance[O], original: Callable[[Any], O]
) -> Callable[[Any, DataError], None]:
    """What ``TolerantStep`` does by ``errors.*``. ``original`` gives what a batch of one record is reported as."""
    cls = plugins.transformation(stage.type, f"transforms.{stage.alias}.type")
    operation = Operation(Stage.TRANSFORMATION, plugins.class_name(PluginKind.TRANSFORMATION, cls), stage.alias)

    def skip(batch: Any, error: DataError) -> None:
        def failed() -> None:
            raise error

        errors.execute(operation, original(batch), failed)

    return skip


def _halves(batch: Any) -> tuple[Any, Any]:
    """Of records, or of an Arrow table."""
    middle = len(batch) // 2
    if isinstance(batch, Sequence):
        return batch[:middle], batch[middle:]
    return batch.slice(0, middle), batch.slice(middle)
