# SPDX-License-Identifier: Apache-2.0
"""The config providers that come with headrace. As Java's each hands out all that the worker can read, if no parameter
limits it."""
