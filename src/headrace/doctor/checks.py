# SPDX-License-Identifier: Apache-2.0
"""The table of all checks, in the order of the report."""

from __future__ import annotations

from typing import Final

from headrace.doctor.brokers import check_brokers, check_cluster
from headrace.doctor.group import check_group
from headrace.doctor.internal_topics import check_internal_topics
from headrace.doctor.machine import check_java, check_memory, check_open_files, check_python, check_temporary_files
from headrace.doctor.permissions import check_permissions
from headrace.doctor.ports import check_listeners, check_spark_ui
from headrace.doctor.properties import check_config_providers, check_exactly_once, check_plugins, check_properties
from headrace.doctor.runner import Check
from headrace.doctor.security import check_connectors, check_security
from headrace.doctor.spark import check_spark

CHECKS: Final = (
    Check("python", check_python),
    Check("java", check_java),
    Check("memory", check_memory),
    Check("open files", check_open_files),
    Check("temporary files", check_temporary_files),
    Check("properties", check_properties),
    Check("config providers", check_config_providers),
    Check("plugins", check_plugins, seconds=10.0),
    Check("listeners", check_listeners),
    Check("spark ui", check_spark_ui),
    Check("brokers", check_brokers, seconds=15.0),
    Check("cluster", check_cluster, seconds=20.0),
    Check("permissions", check_permissions, seconds=20.0),
    Check("internal topics", check_internal_topics, seconds=20.0),
    Check("group", check_group, seconds=20.0),
    Check("connectors", check_connectors, seconds=20.0),
    Check("spark", check_spark, seconds=20.0),
    Check("exactly-once", check_exactly_once),
    Check("security", check_security),
)
