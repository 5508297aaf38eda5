# SPDX-License-Identifier: Apache-2.0
"""Data's way: what runs in a task's process."""
