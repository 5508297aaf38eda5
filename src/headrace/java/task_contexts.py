# SPDX-License-Identifier: Apache-2.0
"""The runtime as Java tasks see it: Java's contexts, by those of Python tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from headrace.api.sink import SinkTaskContext
from headrace.api.source import SourceTaskContext
from headrace.java.data import java_map
from headrace.java.errant_records import ErrantRecords
from headrace.java.offset_reader import java_offset_reader
from headrace.java.partitions import java_partitions, python_partition
from headrace.java.plugin_metrics import java_plugin_metrics
from headrace.java.task_calls import proxy
from headrace.java.transactions import JavaTransactions
from headrace.java.worker_sink_context import worker_sink_task_context

_CONNECT: Final = "org.apache.kafka.connect"


def source_task_context(context: SourceTaskContext, transactions: JavaTransactions | None) -> Any:
    """Return Java's ``SourceTaskContext``. ``transactions`` is None unless the task may define transactions."""
    reader = java_offset_reader(context.offset_storage_reader.offsets)
    boundaries = transactions.java_context() if transactions is not None else None
    return proxy(
        f"{_CONNECT}.source.SourceTaskContext",
        configs=lambda: java_map(context.configs()),
        offsetStorageReader=lambda: reader,
        transactionContext=lambda: boundaries,
        pluginMetrics=_plugin_metrics(context),
    )


def sink_task_context(context: SinkTaskContext, errant: ErrantRecords | None) -> Any:
    """Return Java's ``SinkTaskContext``. ``errant`` is None if neither a log nor a dead letter queue is configured."""

    def offset(where: Any, offset: int | None = None) -> None:
        if offset is None:
            context.offsets({python_partition(each.getKey()): int(each.getValue()) for each in where.entrySet()})
        else:
            context.offset(python_partition(where), int(offset))

    java_context = proxy(
        f"{_CONNECT}.sink.SinkTaskContext",
        configs=lambda: java_map(context.configs()),
        offset=offset,
        timeout=lambda timeout_ms: context.timeout_ms(int(timeout_ms)),
        assignment=lambda: java_partitions(context.assignment(), "java.util.HashSet"),
        pause=lambda partitions: context.pause(*map(python_partition, partitions)),
        resume=lambda partitions: context.resume(*map(python_partition, partitions)),
        requestCommit=context.request_commit,
        errantRecordReporter=lambda: errant.java_reporter() if errant is not None else None,
        pluginMetrics=_plugin_metrics(context),
    )
    return worker_sink_task_context(java_context, context)


def _plugin_metrics(context: SourceTaskContext | SinkTaskContext) -> Callable[[], Any]:
    """Return a function that returns Java's ``PluginMetrics``, each time the same."""
    return cache(lambda: java_plugin_metrics(context.plugin_metrics()))
