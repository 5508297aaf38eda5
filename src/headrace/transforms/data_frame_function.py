# SPDX-License-Identifier: Apache-2.0
"""A user's function of a DataFrame as a transformation. Not in Java."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from headrace import __version__
from headrace.api.config_def import ConfigDef
from headrace.api.frame_transform import VALUE_SCHEMA, FrameTransformation
from headrace.api.frames import FrameJob
from headrace.api.record import ConnectRecord
from headrace.api.record_frames import FUNCTION, STEP
from headrace.transforms._common import define_value_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME: Final = "function"


class DataFrameFunction(FrameTransformation[ConnectRecord]):
    """Base of the classes made for functions, DataFrame → DataFrame, that `transforms.<alias>.type` names."""

    function: ClassVar[str]
    """The name `module:function`."""

    def version(self) -> str:
        return __version__

    def config(self) -> ConfigDef:
        return _CONFIG

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._settings = {_NAME: self.function}
        value_schema = _CONFIG.parse(configs)[VALUE_SCHEMA]
        if value_schema:
            self._settings[VALUE_SCHEMA] = value_schema.strip()

    def check(self) -> FrameJob | None:
        """Return a job that calls the function with an empty batch, if the type of the value is configured."""
        if VALUE_SCHEMA not in self._settings:
            return None
        settings = {**self._settings, STEP: self.job().function}
        return FrameJob(FUNCTION, settings, self.function)

    def job(self) -> FrameJob:
        return FrameJob("headrace.transforms.data_frame_function:call", self._settings, self.function)

    @classmethod
    def of(cls, module: str, name: str) -> type[DataFrameFunction]:
        """Return a transformation class for the function `name` of `module`."""
        named = {"function": f"{module}:{name}", "__module__": module, "__qualname__": name}
        return type(name, (cls,), named)


_CONFIG: Final = define_value_schema(ConfigDef())


def call(session: SparkSession, records: DataFrame | None, settings: Mapping[str, str]) -> DataFrame:
    """Call the user's function. The `FrameFunction` of the jobs."""
    module, _, name = settings[_NAME].partition(":")
    result: DataFrame = getattr(importlib.import_module(module), name)(records)
    return result
