# SPDX-License-Identifier: Apache-2.0
"""Source tasks: polling, transactions and source offsets."""
