# SPDX-License-Identifier: Apache-2.0
"""The built-in transformations and predicates. They import `headrace.api` and nothing else of headrace."""
