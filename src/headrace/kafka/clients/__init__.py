# SPDX-License-Identifier: Apache-2.0
"""Configurations of the two Kafka clients, made from Java's client properties, and their logins.

``client_config`` makes them; ``client_properties`` and ``client_definitions`` are its tables, ``client_logs`` what
clients may log; the rest is security: TLS, SASL, OAuth tokens, Kerberos tickets. Imports ``config`` and
``kafka.errors``; all other rooms of ``kafka`` import it. Begin with ``client_config``.
"""
