# SPDX-License-Identifier: Apache-2.0
"""Context, formats and levels of log lines, changeable at run time; over Python's ``logging``."""
