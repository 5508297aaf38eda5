# SPDX-License-Identifier: Apache-2.0
"""Everything that talks to Kafka; no other package imports a Kafka client."""
