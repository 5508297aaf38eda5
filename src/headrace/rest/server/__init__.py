# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the REST API: listeners, TLS, protocol and limits on connections.

``rest_server`` runs uvicorn on a thread of its own, ``listeners`` binds sockets, ``tls`` reads and renews certificates,
``connection_limits`` and ``http_protocol`` end what takes too long or too much. Imports ``config``. Begin with
``rest_server``.
"""
