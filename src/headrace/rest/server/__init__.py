# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the REST API: listeners, TLS, protocol and limits on connections."""
