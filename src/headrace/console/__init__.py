# SPDX-License-Identifier: Apache-2.0
"""The console: a web page that shows and steers connectors by the REST API, and the page ``/docs`` about that API.

Everything here serves files; what the pages do is in ``static``, as ES modules that browsers run as they are. It knows
nothing of the worker. Begin with ``router``.
"""
