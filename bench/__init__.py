# SPDX-License-Identifier: Apache-2.0
"""Side by side with Java Kafka Connect: `python -m bench`."""
