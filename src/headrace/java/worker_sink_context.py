# SPDX-License-Identifier: Apache-2.0
"""A subclass of Java's ``WorkerSinkTaskContext`` around a sink task's context.

A sink that commits offsets in transactions of its own needs its consumer's membership, and ``SinkTaskContext`` does not
give it. Such sinks, Iceberg's among them, read the private field ``consumer`` of Java Connect's own context class. A
proxy cannot extend a class; so one is made with ASM, which is in the jars of Connect's runtime.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from headrace.api.sink import SinkTaskContext
from headrace.java.jvm import java_class, jpype
from headrace.java.partitions import committed_offsets, java_partitions, python_partition
from headrace.java.task_calls import proxy

_PARENT: Final = "org.apache.kafka.connect.runtime.WorkerSinkTaskContext"
_INTERFACE: Final = "org.apache.kafka.connect.sink.SinkTaskContext"
_CONSUMER: Final = "org.apache.kafka.clients.consumer.Consumer"
_OFFSET: Final = "org.apache.kafka.clients.consumer.OffsetAndMetadata"
_METADATA: Final = "org.apache.kafka.clients.consumer.ConsumerGroupMetadata"
_ASM: Final = "jersey.repackaged.org.objectweb.asm"
_NAME: Final = "SinkTaskContext"
_FIELD: Final = "context"


def worker_sink_task_context(java_context: Any, context: SinkTaskContext) -> Any:
    """Return a ``WorkerSinkTaskContext`` that passes each call of a sink task to ``java_context``.

    Its consumer has ``assignment``, ``committed``, ``groupMetadata`` and ``seek``, by ``context``. All other methods of
    a consumer are the runtime's.
    """

    def seek(partition: Any, offset: Any) -> None:
        position = offset.offset() if isinstance(offset, java_class(_OFFSET)) else offset
        context.offset(python_partition(partition), int(position))

    def group_metadata() -> Any:
        found = context.consumer_group_metadata()
        instance = java_class("java.util.Optional").ofNullable(found.group_instance_id)
        return java_class(_METADATA)(found.group_id, found.generation_id, found.member_id, instance)

    consumer = proxy(
        _CONSUMER,
        assignment=lambda: java_partitions(context.assignment(), "java.util.HashSet"),
        committed=lambda partitions, *_: committed_offsets(context.committed(set(map(python_partition, partitions)))),
        groupMetadata=group_metadata,
        seek=seek,
    )
    return _context_class()(consumer, java_context)


@cache
def _context_class() -> Any:
    """Return the subclass, of which a process has one."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / f"{_NAME}.class").write_bytes(_class_file())
        url = java_class("java.io.File")(directory).toURI().toURL()
        loader = java_class("java.net.URLClassLoader")([url], java_class(_PARENT).class_.getClassLoader())
        return jpype().JClass(loader.loadClass(_NAME))


def _class_file() -> bytes:
    """Return the subclass, whose constructor takes a consumer and the context that it calls."""
    kinds, codes = java_class(f"{_ASM}.Type"), java_class(f"{_ASM}.Opcodes")
    writer = java_class(f"{_ASM}.ClassWriter")(java_class(f"{_ASM}.ClassWriter").COMPUTE_MAXS)
    parent, interface = java_class(_PARENT).class_, java_class(_INTERFACE).class_
    of_field = kinds.getDescriptor(interface)
    writer.visit(codes.V11, codes.ACC_PUBLIC, _NAME, None, kinds.getInternalName(parent), None)
    writer.visitField(codes.ACC_PRIVATE | codes.ACC_FINAL, _FIELD, of_field, None, None)
    _write_constructor(writer, of_field)
    # Java's own description of the context needs what only the runtime has.
    for method in [*interface.getMethods(), java_class("java.lang.Object").class_.getMethod("toString")]:
        descriptor = kinds.getMethodDescriptor(method)
        code = writer.visitMethod(codes.ACC_PUBLIC, method.getName(), descriptor, None, None)
        code.visitVarInsn(codes.ALOAD, 0)
        code.visitFieldInsn(codes.GETFIELD, _NAME, _FIELD, of_field)
        place = 1
        for argument in kinds.getArgumentTypes(descriptor):
            code.visitVarInsn(argument.getOpcode(codes.ILOAD), place)
            place += argument.getSize()
        of_interface = kinds.getInternalName(interface)
        code.visitMethodInsn(codes.INVOKEINTERFACE, of_interface, method.getName(), descriptor, True)
        code.visitInsn(kinds.getReturnType(descriptor).getOpcode(codes.IRETURN))
        _end(code)
    writer.visitEnd()
    return bytes(writer.toByteArray())


def _write_constructor(writer: Any, of_field: str) -> None:
    """Write the constructor; Java's own has two more parameters, which only the methods use that are overridden."""
    kinds, codes = java_class(f"{_ASM}.Type"), java_class(f"{_ASM}.Opcodes")
    parent, consumer = java_class(_PARENT).class_, kinds.getDescriptor(java_class(_CONSUMER).class_)
    (constructor,) = parent.getConstructors()
    code = writer.visitMethod(codes.ACC_PUBLIC, "<init>", f"({consumer}{of_field})V", None, None)
    code.visitVarInsn(codes.ALOAD, 0)
    code.visitVarInsn(codes.ALOAD, 1)
    code.visitInsn(codes.ACONST_NULL)
    code.visitInsn(codes.ACONST_NULL)
    descriptor = kinds.getConstructorDescriptor(constructor)
    code.visitMethodInsn(codes.INVOKESPECIAL, kinds.getInternalName(parent), "<init>", descriptor, False)
    code.visitVarInsn(codes.ALOAD, 0)
    code.visitVarInsn(codes.ALOAD, 2)
    code.visitFieldInsn(codes.PUTFIELD, _NAME, _FIELD, of_field)
    code.visitInsn(codes.RETURN)
    _end(code)


def _end(code: Any) -> None:
    code.visitMaxs(0, 0)
    code.visitEnd()
