# SPDX-License-Identifier: Apache-2.0
"""A counter: every task writes 0, 1, 2, ... to a topic, and continues after the last number after any failure."""

import threading

from headrace.api import ConfigDef, ExactlyOnceSupport, SourceConnector, SourceRecord, SourceTask
from headrace.api.config_def import Type


class CounterSourceConnector(SourceConnector):
    def config(self):
        return ConfigDef().define("topic", Type.STRING).define("per.second", Type.INT, 10)

    def start(self, props):
        self.props = props

    def task_class(self):
        return CounterSourceTask

    def task_configs(self, max_tasks):  # one map for each task
        return [{**self.props, "counter": str(number)} for number in range(max_tasks)]

    def exactly_once_support(self, props):
        return ExactlyOnceSupport.SUPPORTED

    def stop(self):
        pass


class CounterSourceTask(SourceTask):
    def __init__(self):
        self.stopping = threading.Event()

    def start(self, props):
        self.topic = props["topic"]
        self.seconds = 1 / int(props.get("per.second", 10))
        self.source = {"counter": props["counter"]}  # the source partition
        offset = self.context.offset_storage_reader.offset(self.source)
        self.next = offset["next"] if offset else 0  # the source offset: the next number

    def poll(self):
        if self.stopping.wait(self.seconds):
            return None
        value, self.next = self.next, self.next + 1
        return [SourceRecord(self.source, {"next": self.next}, self.topic, value=value)]

    def stop(self):
        self.stopping.set()
