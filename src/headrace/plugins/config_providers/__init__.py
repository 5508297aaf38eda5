# SPDX-License-Identifier: Apache-2.0
"""The built-in config providers. As in Java, each provides all that the worker can read, unless limited."""
