# SPDX-License-Identifier: Apache-2.0
"""Kafka Connect's REST API.

``resources`` has the routes, ``middleware`` and ``access`` what a request passes before them, ``server`` sockets and
HTTP; ``entities`` makes answers of the model, ``exception_mapper`` is the only place that decides HTTP codes. Imports
``herder``; ``cli`` uses it. Begin with ``worker_api``, which puts all of it together.
"""
