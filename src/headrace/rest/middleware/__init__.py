# SPDX-License-Identifier: Apache-2.0
"""ASGI middleware before the application; ``worker_api`` puts it in order.

Each module is one check or addition: host names, cross-origin writes, CORS, size of bodies, headers of answers, paths
of the admin listener. None knows of the herder. Begin with ``host_check``.
"""
