# SPDX-License-Identifier: Apache-2.0
"""Finds out whether all that becomes of a Java source task's records can stay in Java, and puts it together."""

from __future__ import annotations

from headrace.api.record import SourceRecord
from headrace.config.connector_config import KEY_CONVERTER, VALUE_CONVERTER
from headrace.config.source_connector_config import SourceConnectorConfig
from headrace.java.functions import BatchFunction
from headrace.java.record_functions import conversion_function
from headrace.task.assembly import TaskAssembly
from headrace.task.java_chain import JavaStep, all_java_steps, java_converter
from headrace.task.record_converter import PartConverter, RecordConverter
from headrace.task.source.java_batches import JavaSteps
from headrace.task.transformation_chain import TransformationChain

Assembly = TaskAssembly[SourceConnectorConfig, SourceRecord]
Chain = TransformationChain[SourceRecord, SourceRecord]


def create_java_steps(assembly: Assembly, chain: Chain, converter: RecordConverter) -> JavaSteps | None:
    """Return what ``chain`` and ``converter`` do as functions of Java's; None if Java has no part of it."""
    transformations = all_java_steps(assembly, chain)
    key = _conversion(assembly, KEY_CONVERTER, converter.key)
    value = _conversion(assembly, VALUE_CONVERTER, converter.value)
    if transformations is None or key is None or value is None:
        return None

    def close() -> None:
        # Those that stand for Python's are Kafka's own, which have nothing to close.
        chain.close()
        converter.close()

    return JavaSteps(transformations, key, value, converter.headers, close)


def _conversion(assembly: Assembly, name: str, part: PartConverter) -> JavaStep | None:
    java = java_converter(assembly, name, part.operation, part.converter)
    if java is None:
        return None
    return JavaStep(part.operation, BatchFunction(conversion_function(java, name == KEY_CONVERTER)))
