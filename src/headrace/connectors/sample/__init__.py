# SPDX-License-Identifier: Apache-2.0
"""A connector with data to try headrace out, without an outside system (`headrace quickstart`).

Imports `headrace.api` only. Begin with `orders_source`.
"""
