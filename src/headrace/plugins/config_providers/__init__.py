# SPDX-License-Identifier: Apache-2.0
"""The built-in config providers. As in Java, each provides all that the worker can read, unless limited.

The two that read files share ``FileReadingProvider``: allowed paths and the time to live of values. Imports ``api`` and
``config``. Begin with ``file_config_provider``.
"""
