# SPDX-License-Identifier: Apache-2.0
"""The connectors of one worker: instances, their threads, and their task configurations.

``worker_connectors`` keeps them, ``worker_connector`` is one with a thread of its own, so that one that hangs holds up
no other; ``task_configs`` makes what its tasks get. Java: ``WorkerConnector``. Begin with ``worker_connectors``.
"""
