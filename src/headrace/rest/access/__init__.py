# SPDX-License-Identifier: Apache-2.0
"""Who a request is of, what that one may do, and the record of both."""
