# SPDX-License-Identifier: Apache-2.0
"""Context, formats and levels of log lines, changeable at run time; over Python's ``logging``.

``context`` names connector and task in each line, ``formats`` makes text or JSON, ``loggers`` serves ``/admin/loggers``
(KIP-495, KIP-976). Imports ``model``; any package may log. Begin with ``context``.
"""
