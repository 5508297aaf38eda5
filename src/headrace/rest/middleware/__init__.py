# SPDX-License-Identifier: Apache-2.0
"""ASGI middleware before the application; ``worker_api`` puts it in order."""
