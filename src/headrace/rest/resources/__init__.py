# SPDX-License-Identifier: Apache-2.0
"""The routes of the REST API. Java: ``org.apache.kafka.connect.runtime.rest.resources``.

One module for each of Kafka Connect's resources, with the same names; ``internal_resource`` is what workers ask of each
other. Handlers run on the event loop: queries answer from snapshots, requests are awaited. Imports ``herder`` and
``model``. Begin with ``connectors_resource``.
"""
