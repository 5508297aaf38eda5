# SPDX-License-Identifier: Apache-2.0
"""What log lines carry and look like, and how their levels change at run time; over Python's ``logging``."""
