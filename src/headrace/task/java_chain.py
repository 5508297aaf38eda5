# SPDX-License-Identifier: Apache-2.0
"""The parts of a chain that Java can do, as functions for whole batches of a Java task's records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.api.converter import Converter
from headrace.config.connector_config import KEY_CONVERTER, PluginStage
from headrace.java.counterparts import counterpart
from headrace.java.errors import java_errors, python_error
from headrace.java.functions import BatchFunction, Recover
from headrace.java.record_functions import transformation_function
from headrace.plugins.builtin import PluginKind
from headrace.task.assembly import TaskAssembly
from headrace.task.errors.processing_context import O, Operation
from headrace.task.errors.retry_with_tolerance import SKIPPED, RetryWithTolerance
from headrace.task.transformation_chain import TransformationChain, TransformationStage


@dataclass(frozen=True, slots=True)
class JavaStep:
    """A function of a Java record, and the operation that its failures are reported as."""

    operation: Operation
    function: BatchFunction


def java_steps(assembly: TaskAssembly[Any, Any], chain: TransformationChain[Any, Any]) -> list[JavaStep | None]:
    """Return what the stages of ``chain`` do as functions of Java's; None for one that only Python has."""
    configs = zip(assembly.config.transforms, chain.stages, strict=True)
    return [_transformation(assembly, config, stage) for config, stage in configs]


def all_java_steps(assembly: TaskAssembly[Any, Any], chain: TransformationChain[Any, Any]) -> list[JavaStep] | None:
    """Return what all stages of ``chain`` do as functions of Java's; None if only Python has one."""
    steps = java_steps(assembly, chain)
    known = [step for step in steps if step is not None]
    return known if len(known) == len(steps) else None


def java_converter(
    assembly: TaskAssembly[Any, Any], name: str, operation: Operation, converter: Converter
) -> Any | None:
    """Return the Java object that does what the converter of the property ``name`` does; None if there is none."""
    is_key = name == KEY_CONVERTER
    return counterpart(converter, operation.executing_class, assembly.converters.properties(name), is_key)


def recover(
    errors: RetryWithTolerance[O], operation: Operation, original: Callable[[int], O], skipped: set[int]
) -> Recover:
    """Return the function that handles a row's failure as ``errors`` say; it adds a row that is skipped."""

    def again(call: Callable[[], Any]) -> Any:
        with java_errors():
            return call()

    def recovered(row: int, error: Any, call: Callable[[], Any]) -> Any:
        result = errors.recover(operation, original(row), python_error(error), partial(again, call))
        if result is SKIPPED:
            skipped.add(row)
            return None
        return result

    return recovered


def _transformation(
    assembly: TaskAssembly[Any, Any], config: PluginStage, stage: TransformationStage
) -> JavaStep | None:
    transformation = counterpart(stage.transformation, stage.operation.executing_class, config.config)
    predicate = _predicate(assembly, config, stage)
    if transformation is None or (predicate is None and stage.predicate is not None):
        return None
    return JavaStep(stage.operation, BatchFunction(transformation_function(transformation, predicate, stage.negate)))


def _predicate(assembly: TaskAssembly[Any, Any], config: PluginStage, stage: TransformationStage) -> Any | None:
    if stage.predicate is None:
        return None
    name = assembly.plugins.class_name(PluginKind.PREDICATE, type(stage.predicate))
    (used,) = (each for each in assembly.config.predicates if each.alias == config.predicate)
    return counterpart(stage.predicate, name, used.config)
