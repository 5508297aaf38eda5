# SPDX-License-Identifier: Apache-2.0
"""`make demo-cdc`: a table goes from one PostgreSQL database to another by Debezium while tasks and worker die."""
