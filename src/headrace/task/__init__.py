# SPDX-License-Identifier: Apache-2.0
"""The data path: everything that runs in a task's process."""
