# SPDX-License-Identifier: Apache-2.0
"""Events about connectors and their datasets for OpenLineage.

Nothing else imports ``openlineage``, and nothing here does before lineage is enabled. Begin with ``lineage_runs``.
"""
