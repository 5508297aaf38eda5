# SPDX-License-Identifier: Apache-2.0
"""The topics of connectors, and their records as the connectors' own converters decode them.

``topic_records`` is the worker's part, ``records_job`` runs in the sandbox. Begin with ``topic_records``.
"""
