# SPDX-License-Identifier: Apache-2.0
"""Frozen values and futures that the layers above pass around; nothing here does I/O."""
