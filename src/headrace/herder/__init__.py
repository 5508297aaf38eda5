# SPDX-License-Identifier: Apache-2.0
"""The control surface of a cluster."""
