# SPDX-License-Identifier: Apache-2.0
"""The routes of the REST API. Java: ``org.apache.kafka.connect.runtime.rest.resources``."""
