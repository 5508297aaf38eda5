# SPDX-License-Identifier: Apache-2.0
"""Previews: the first records of a connector, step by step, without any of them being written.

``previews`` is the worker's part; ``preview_job`` runs in the sandbox, with the data path's own converters and
transformations. Begin with ``preview_job``.
"""
