# SPDX-License-Identifier: Apache-2.0
"""The commands for operators, over the REST API of any worker, headrace's or Java Kafka Connect's.

``command`` turns a function into a command with an address, an output format and one-line errors; ``rest_api`` sends
its requests; ``contexts`` and ``address`` find the worker; ``output`` prints. Modules are imported for ``--help`` too:
what is slow to import (HTTP, tables, YAML) is imported where it is used. Begin with ``command``, then ``connectors``.
"""
