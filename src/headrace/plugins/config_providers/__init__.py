# SPDX-License-Identifier: Apache-2.0
"""The built-in config providers. As in Java, each provides all that the worker can read, unless limited.

``file_access`` is what the two that read files share: allowed paths and the time to live of values. Imports ``api`` and
``config``. Begin with ``file_config_provider``.
"""
