# SPDX-License-Identifier: Apache-2.0
"""Authentication and authorization of requests, and their audit log."""
