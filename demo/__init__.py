# SPDX-License-Identifier: Apache-2.0
"""`make demo`: a file goes into Kafka exactly once while its task, its process and its Spark die."""
