# SPDX-License-Identifier: Apache-2.0
"""The built-in predicates, which decide whether a transformation applies to a record (KIP-585)."""
