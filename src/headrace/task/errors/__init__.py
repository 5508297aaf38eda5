# SPDX-License-Identifier: Apache-2.0
"""Records that cannot be processed: tried again, set aside, or the end of the task (KIP-298)."""
