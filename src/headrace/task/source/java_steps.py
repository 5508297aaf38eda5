# SPDX-License-Identifier: Apache-2.0
"""Finds out whether all that becomes of a Java task's records can stay in Java, and puts it together."""

from __future__ import annotations

from typing import Any

from headrace.api.record import SourceRecord
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER, PluginStage
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.java.counterparts import counterpart
from headrace.java.functions import BatchFunction
from headrace.java.record_functions import conversion_function, transformation_function
from headrace.plugins.builtin import PluginKind
from headrace.task.assembly import TaskAssembly
from headrace.task.record_converter import PartConverter, RecordConverter
from headrace.task.source.java_batches import JavaStep, JavaSteps
from headrace.task.transformation_chain import TransformationChain, TransformationStage

Assembly = TaskAssembly[SourceConnectorConfig, SourceRecord]
Chain = TransformationChain[SourceRecord, SourceRecord]


def create_java_steps(assembly: Assembly, chain: Chain, converter: RecordConverter) -> JavaSteps | None:
    """Return what ``chain`` and ``converter`` do as functions of Java's; None if Java has no part of it."""
    transformations: list[JavaStep] = []
    for config, stage in zip(assembly.config.transforms, chain.stages, strict=True):
        step = _transformation(assembly, config, stage)
        if step is None:
            return None
        transformations.append(step)
    key = _conversion(assembly, KEY_CONVERTER, converter.key)
    value = _conversion(assembly, VALUE_CONVERTER, converter.value)
    if key is None or value is None:
        return None

    def close() -> None:
        # Those that stand for Python's are Kafka's own, which have nothing to close.
        chain.close()
        converter.close()

    return JavaSteps(transformations, key, value, converter.headers, close)


def _transformation(assembly: Assembly, config: PluginStage, stage: TransformationStage) -> JavaStep | None:
    transformation = counterpart(stage.transformation, stage.operation.executing_class, config.config)
    predicate = _predicate(assembly, config, stage)
    if transformation is None or (predicate is None and stage.predicate is not None):
        return None
    return JavaStep(stage.operation, BatchFunction(transformation_function(transformation, predicate, stage.negate)))


def _predicate(assembly: Assembly, config: PluginStage, stage: TransformationStage) -> Any | None:
    if stage.predicate is None:
        return None
    name = assembly.plugins.class_name(PluginKind.PREDICATE, type(stage.predicate))
    (used,) = (each for each in assembly.config.predicates if each.alias == config.predicate)
    return counterpart(stage.predicate, name, used.config)


def _conversion(assembly: Assembly, name: str, part: PartConverter) -> JavaStep | None:
    configs = assembly.converters.properties(name)
    is_key = name == KEY_CONVERTER
    java = counterpart(part.converter, part.operation.executing_class, configs, is_key)
    return None if java is None else JavaStep(part.operation, BatchFunction(conversion_function(java, is_key)))
