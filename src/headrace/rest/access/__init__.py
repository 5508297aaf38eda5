# SPDX-License-Identifier: Apache-2.0
"""Authentication and authorization of requests, and their audit log.

``access`` decides by ``rules`` who may do what, ``operations`` names what each route does, ``authentication``,
``passwords``, ``bearer_tokens`` and ``certificates`` find out who asks, ``hidden_secrets`` keeps values from those who
may only look. Imports ``herder`` and ``config``. Begin with ``access``.
"""
